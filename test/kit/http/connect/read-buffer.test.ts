// Sockets that share one buffer: the bytes of one never show in another, and none are lost or taken for an answer.

import { once } from 'node:events'
import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { openTcp } from '../../../../src/kit/http/connect/open-tcp.js'
import { ReadBuffer } from '../../../../src/kit/http/connect/read-buffer.js'
import { WebhookConnection } from '../../../../src/kit/http/webhook-connection.js'
import { nextTurn } from '../../../../src/kit/turns.js'
import { eventually } from '../../../../testing/eventually.js'
import { plainPools } from '../../../extproc/support/guards.js'
import { at, closeAfterEach, closing, serveRaw } from '../support/servers.js'
import { callTo } from '../support/webhook.js'

closeAfterEach()

const PIECES = 50
const PIECE = 1000

const call = (port: number, letter: string) =>
  callTo(at(port), { backend: letter, body: Buffer.from(letter), maxBytes: PIECES * PIECE })

test('answers that arrive piece by piece, in turns, are each whole', async () => {
  const asked: [letter: string, socket: Socket][] = []
  const port = await serveRaw((socket) =>
    socket.on('data', (bytes: Buffer) => asked.push([bytes.toString('latin1').slice(-1), socket])),
  )
  const pools = plainPools()
  closing.push(() => pools.close())
  const letters = ['a', 'b', 'c', 'd']
  const answers = letters.map((letter) => pools.call(call(port, letter)))
  await eventually(() => expect(asked).toHaveLength(letters.length))
  for (const [, socket] of asked)
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${PIECES * PIECE}\r\n\r\n`)
  for (let piece = 0; piece < PIECES; piece++) {
    for (const [letter, socket] of asked) socket.write(letter.repeat(PIECE))
    await nextTurn()
  }
  const texts = (await Promise.all(answers)).map((answer) =>
    answer.ok ? Buffer.concat(answer.value.body).toString('latin1') : answer.error.type,
  )
  expect(texts).toEqual(letters.map((letter) => letter.repeat(PIECES * PIECE)))
})

test('bytes that come before anyone receives them end the connection, and its first call', async () => {
  const port = await serveRaw((socket) =>
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'),
  )
  const reads = new ReadBuffer()
  const address = { ip: '127.0.0.1', port }
  const socket = await openTcp(address, 5_000, new AbortController().signal, reads)
  await eventually(() => expect(reads.hasDropped).toBe(true))
  const closed = once(socket, 'close')
  const events = { idle: () => undefined, closed: () => undefined }
  const connection = new WebhookConnection(socket, events, reads)
  const failed = new Promise((resolve) => {
    const ignore = (): void => undefined
    const sent = { method: 'POST', path: '/', headers: {}, body: Buffer.from('prompt') }
    const rest = { onStart: () => true, onHead: ignore, onData: ignore, onEnd: ignore }
    connection.send(sent, { ...rest, onError: (error) => resolve(error) })
  })
  expect(await failed).toMatchObject({ code: 'ECONNRESET' })
  await closed
})
