// A connection to a webhook: what is written for a call, and how much of an answer is read at a time.

import { Duplex } from 'node:stream'
import { expect, test } from 'vitest'
import type { SentRequest } from '../../../src/kit/http/request-head.js'
import { type AnswerHandler, WebhookConnection } from '../../../src/kit/http/webhook-connection.js'
import { nextTurn } from '../../../src/kit/turns.js'
import { eventually } from '../../../testing/eventually.js'

const REQUEST: SentRequest = {
  method: 'POST',
  path: '/a?b=c',
  headers: { host: 'guard.example', 'x-name': 'caf\u00e9' },
  body: Buffer.from('{"a":1}'),
}

function connected() {
  const written: Buffer[] = []
  const socket = new Duplex({
    read: () => undefined,
    write: (chunk: Buffer, _encoding, done) => {
      written.push(chunk)
      done()
    },
  })
  const seen = { bytes: 0, pieces: 0, ended: 0, errors: [] as unknown[], idle: 0 }
  const handler: AnswerHandler = {
    onStart: () => true,
    onHead: () => undefined,
    onData: ({ length }) => {
      seen.bytes += length
      seen.pieces += 1
    },
    onEnd: () => (seen.ended += 1),
    onError: (error) => seen.errors.push(error),
  }
  const connection = new WebhookConnection(socket, {
    idle: () => (seen.idle += 1),
    closed: () => undefined,
  })
  return {
    connection,
    handler,
    seen,
    socket,
    text: () => Buffer.concat(written).toString('latin1'),
  }
}

test('a request is written with its length, and nothing that its headers do not say', () => {
  const { connection, handler, text } = connected()
  connection.send(REQUEST, handler)
  expect(text()).toBe(
    'POST /a?b=c HTTP/1.1\r\nhost: guard.example\r\nx-name: caf\u00e9\r\n' +
      'connection: keep-alive\r\ncontent-length: 7\r\n\r\n{"a":1}',
  )
})

test('each request has its own headers, whatever the one before it had', async () => {
  const { connection, handler, seen, socket, text } = connected()
  const sent: SentRequest['headers'][] = [
    { host: 'a.example', 'x-name': '1' },
    { host: 'a.example', 'x-name': '1' },
    { host: 'a.example', 'x-name': '2' },
    { host: 'a.example', 'x-other': '2' },
    { host: 'a.example' },
    { host: 'a.example', 'x-name': '1', 'x-other': '2' },
  ]
  for (const [index, headers] of sent.entries()) {
    connection.send({ ...REQUEST, headers }, handler)
    socket.push('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
    await eventually(() => expect(seen.ended).toBe(index + 1))
    await nextTurn()
  }
  const heads = text()
    .split('POST /a?b=c HTTP/1.1\r\n')
    .slice(1)
    .map((one) => one.split('connection:')[0])
  expect(heads).toEqual(
    sent.map((headers) =>
      Object.entries(headers)
        .map(([name, value]) => `${name}: ${value}\r\n`)
        .join(''),
    ),
  )
  const bad = { host: 'a.example', 'x-name': '1\r\n' }
  expect(() => connection.send({ ...REQUEST, headers: bad }, handler)).toThrow('cannot be sent')
})

test('a long body is written whole', () => {
  const { connection, handler, text } = connected()
  connection.send({ ...REQUEST, body: Buffer.alloc(100_000, 'a') }, handler)
  expect(text().endsWith(`content-length: 100000\r\n\r\n${'a'.repeat(100_000)}`)).toBe(true)
})

test.each([
  ['a value', { 'x-name': 'a\r\nb: c' }],
  ['a name', { 'x name': 'a' }],
])('nothing is written if %s could be read as another header', (_name, headers) => {
  const { connection, handler, text } = connected()
  expect(() => connection.send({ ...REQUEST, headers }, handler)).toThrow('cannot be sent')
  expect(text()).toBe('')
})

test.each([
  ['POST', 1],
  ['DELETE', 0],
])('after %s, the connection is kept %i times', async (method, kept) => {
  const { connection, handler, seen, socket } = connected()
  connection.send({ ...REQUEST, method }, handler)
  socket.push('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
  await eventually(() => expect(seen.ended).toBe(1))
  expect([seen.idle, socket.destroyed]).toEqual([kept, kept === 0])
})

test('a call that ends within a piece of its answer reads no more of that piece', async () => {
  const { connection, handler, seen, socket } = connected()
  let abort: ((reason: Error) => void) | undefined
  const ending: AnswerHandler = {
    ...handler,
    onStart: (given) => {
      abort = given
      return true
    },
    onData: (bytes) => {
      handler.onData(bytes)
      abort?.(new Error('too large'))
    },
  }
  connection.send(REQUEST, ending)
  socket.push(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\na\r\n'.repeat(5_000)}`)
  await eventually(() => expect(seen.errors).toHaveLength(1))
  expect(seen.pieces).toBe(1)
})

test('a long answer lets other work run after every 64 KiB or so', async () => {
  const { connection, handler, seen, socket } = connected()
  connection.send(REQUEST, handler)
  const chunk = Buffer.from('1\r\na\r\n'.repeat(10_000))
  socket.push('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n')
  await eventually(() => expect(socket.readableFlowing).toBe(true))
  for (let piece = 0; piece < 20; piece++) socket.push(chunk)
  let most = 0
  while (seen.bytes < 200_000) {
    const before = seen.bytes
    await nextTurn()
    most = Math.max(most, seen.bytes - before)
  }
  expect(most).toBeLessThanOrEqual(30_000)
})
