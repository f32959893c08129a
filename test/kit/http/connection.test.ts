// Connections whose servers close them at once, and what an answer of many small chunks leaves to others.

import { Duplex } from 'node:stream'
import { MessageChannel } from 'node:worker_threads'
import { Client } from 'undici'
import { expect, test } from 'vitest'
import { PortStream } from '../../../src/kit/http/connect/port-stream.js'
import { TargetConnection } from '../../../src/kit/http/connection.js'
import { Exchange } from '../../../src/kit/http/exchange.js'
import { systemLookup } from '../../../src/kit/http/http-call.js'
import { nextTurn } from '../../../src/kit/turns.js'
import { at } from './support/servers.js'

test('an answer of many small chunks lets other work run after some thousands of them', async () => {
  let pieces = 0
  class Counted extends Exchange {
    override onResponseData(...given: Parameters<Exchange['onResponseData']>): void {
      pieces += 1
      super.onResponseData(...given)
    }
  }
  const socket = new Duplex({
    read: () => undefined,
    write: (_chunk, _encoding, done: () => void) => done(),
  })
  const client = new Client('http://guard.example', {
    connect: (_options, callback) => queueMicrotask(() => callback(null, socket as never)),
  })
  const request = { method: 'POST', path: '/', headers: {}, maxBytes: 1_000_000 }
  const exchange = new Counted(request, () => false)
  client.dispatch({ ...request, body: 'prompt' }, exchange)
  await nextTurn()
  socket.push('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n')
  for (let times = 0; times < 20; times++) socket.push('1\r\na\r\n'.repeat(10_000))
  socket.push('0\r\n\r\n')
  let most = 0
  while (pieces < 200_000) {
    const before = pieces
    await nextTurn()
    most = Math.max(most, pieces - before)
  }
  expect(most).toBeLessThanOrEqual(5_000)
  const { body } = await exchange.answer
  expect(Buffer.concat(body).toString()).toBe('a'.repeat(200_000))
  await client.destroy()
})

test('a server that closes each connection before it is asked is connected to once', async () => {
  let opened = 0
  const connectTls = () => {
    opened += 1
    const stream = new PortStream(new MessageChannel().port1)
    stream.destroy()
    return Promise.resolve(stream)
  }
  const tls = { hostname: 'guard.example', subjectAltNames: [], authorities: 'System' } as const
  const connection = new TargetConnection(
    { target: at(1, { tls }), timeoutMs: 5_000 },
    { lookup: systemLookup, connectTls },
  )
  const request = { method: 'POST', path: '/', headers: {}, maxBytes: 1 }
  await expect(connection.exchange(request)).rejects.toThrow('the connection broke (ECONNRESET)')
  expect(opened).toBe(1)
  await connection.destroy({ type: 'aborted' })
})

test('an answer without a length that a reset cuts off is none', async () => {
  const { port1, port2 } = new MessageChannel()
  const stream = new PortStream(port1)
  const tls = { hostname: 'guard.example', subjectAltNames: [], authorities: 'System' } as const
  const connection = new TargetConnection(
    { target: at(1, { tls }), timeoutMs: 5_000 },
    { lookup: systemLookup, connectTls: () => Promise.resolve(stream) },
  )
  port2.once('message', () => {
    port2.postMessage(Buffer.from('HTTP/1.1 200 OK\r\n\r\nhalf'))
    port2.postMessage({ code: 'ECONNRESET' })
  })
  const request = { method: 'POST', path: '/', headers: {}, maxBytes: 100 }
  await expect(connection.exchange(request)).rejects.toThrow('the connection broke (ECONNRESET)')
  await connection.destroy({ type: 'aborted' })
})
