// Answers of webhooks: what is read, however it is cut, and what is refused because it could be read in two ways.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { AnswerHead } from '../../../src/kit/http/answer-head.js'
import { AnswerReader, BadAnswer } from '../../../src/kit/http/answer-reader.js'
import { runs } from '../../support/runs.js'

interface Answer {
  readonly status: number | undefined
  readonly body: string
  readonly isDone: boolean
  /** Bytes that do not belong to the answer. */
  readonly left: number
  readonly keepsAlive: boolean
}

/** Reads an answer in pieces of these lengths, in turn. */
function read(text: string, lengths: readonly number[] = [text.length], isHead = false): Answer {
  const bytes = Buffer.from(text, 'latin1')
  let head: AnswerHead | undefined
  let body = ''
  const parts = {
    onHead: (given: AnswerHead) => void (head = given),
    onData: (part: Buffer) => void (body += part.toString('latin1')),
  }
  const reader = new AnswerReader(parts, isHead)
  let at = 0
  for (let turn = 0; at < bytes.length && !reader.isDone; turn++) {
    const length = Math.max(1, lengths[turn % lengths.length] ?? 1)
    at += reader.read(bytes.subarray(at, at + length))
  }
  const { isDone, keepsAlive } = reader
  return { status: head?.status, body, isDone, left: bytes.length - at, keepsAlive }
}

const OK = 'HTTP/1.1 200 OK\r\n'

const READ: readonly (readonly [string, string, Partial<Answer>])[] = [
  ['a length', `${OK}Content-Length: 3\r\n\r\nabc`, { status: 200, body: 'abc', keepsAlive: true }],
  ['no content', `${OK}content-length: 0\r\n\r\n`, { body: '', isDone: true }],
  ['204 without a length', 'HTTP/1.1 204 No Content\r\n\r\n', { status: 204, isDone: true }],
  ['no reason phrase', 'HTTP/1.1 200\r\ncontent-length: 1\r\n\r\na', { status: 200, body: 'a' }],
  [
    'chunks with an extension and trailers',
    `${OK}Transfer-Encoding: chunked\r\n\r\n2;a=b\r\nab\r\n1\r\nc\r\n0\r\nx: y\r\n\r\n`,
    { body: 'abc', isDone: true, keepsAlive: true },
  ],
  [
    'interim answers before it',
    `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nlink: a\r\n\r\n${OK}content-length: 1\r\n\r\na`,
    { status: 200, body: 'a', isDone: true },
  ],
  [
    'connection: close',
    `${OK}connection: Close\r\ncontent-length: 1\r\n\r\na`,
    { body: 'a', isDone: true, keepsAlive: false },
  ],
  [
    'HTTP/1.0',
    'HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\na',
    { body: 'a', isDone: true, keepsAlive: false },
  ],
  [
    'HTTP/1.0 that keeps the connection',
    'HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 1\r\n\r\na',
    { body: 'a', isDone: true, keepsAlive: true },
  ],
]

describe('an answer with', () => {
  test.each(READ)('%s is read, however it is cut', (_name, text, expected) => {
    for (let length = 1; length <= text.length; length++)
      expect(read(text, [length])).toMatchObject({ ...expected, left: 0 })
  })

  test('more bytes than its own leaves those', () => {
    expect(read(`${OK}content-length: 1\r\n\r\nabc`)).toMatchObject({ body: 'a', left: 2 })
  })

  test('a length has no body after HEAD', () => {
    const text = `${OK}content-length: 5\r\n\r\n`
    expect(read(text, [text.length], true)).toMatchObject({ body: '', isDone: true })
  })

  test('neither length nor chunks ends where the server closes', () => {
    let body = ''
    const reader = new AnswerReader(
      { onHead: () => undefined, onData: (part) => (body += part.toString()) },
      false,
    )
    reader.read(Buffer.from(`${OK}\r\nabc`))
    expect(reader.isDone).toBe(false)
    expect(reader.close()).toBe(true)
    expect([body, reader.keepsAlive]).toEqual(['abc', false])
  })

  test('a part of its body is not complete when the server closes', () => {
    const reader = new AnswerReader({ onHead: () => undefined, onData: () => undefined }, false)
    reader.read(Buffer.from(`${OK}content-length: 5\r\n\r\nabc`))
    expect(reader.close()).toBe(false)
  })

  test('a time for which its server keeps the connection tells it', () => {
    const reader = new AnswerReader({ onHead: () => undefined, onData: () => undefined }, false)
    reader.read(Buffer.from(`${OK}keep-alive: timeout=5, max=100\r\ncontent-length: 0\r\n\r\n`))
    expect(reader.keepAliveMs).toBe(5_000)
  })
})

describe('what is refused:', () => {
  test.each([
    ['no HTTP', 'SSH-2.0-x\r\n\r\n'],
    ['HTTP/2', 'HTTP/2 200\r\n\r\n'],
    ['a status of two digits', 'HTTP/1.1 20\r\n\r\n'],
    ['another protocol', 'HTTP/1.1 101 Switching\r\n\r\n'],
    ['two lengths', `${OK}content-length: 1\r\ncontent-length: 2\r\n\r\nab`],
    ['a length twice', `${OK}content-length: 1\r\ncontent-length: 1\r\n\r\na`],
    ['a negative length', `${OK}content-length: -1\r\n\r\n`],
    ['an empty length', `${OK}content-length:\r\n\r\n`],
    ['a length with a sign', `${OK}content-length: +1\r\n\r\na`],
    [
      'a length beside chunks',
      `${OK}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    ['another transfer coding', `${OK}transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
    [
      'chunks twice',
      `${OK}transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    ['chunks of HTTP/1.0', 'HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['a folded field', `${OK}x: a\r\n b\r\n\r\n`],
    ['a blank before the colon', `${OK}content-length : 1\r\n\r\na`],
    ['a line end without a return', `${OK}x: a\ncontent-length: 1\r\n\r\na`],
    ['a control character', `${OK}x: a\0\r\n\r\n`],
    ['a chunk without a size', `${OK}transfer-encoding: chunked\r\n\r\n\r\n`],
    ['a chunk with a sign', `${OK}transfer-encoding: chunked\r\n\r\n-1\r\n`],
    ['a chunk of nine digits', `${OK}transfer-encoding: chunked\r\n\r\n000000001\r\na\r\n`],
    ['a chunk longer than it says', `${OK}transfer-encoding: chunked\r\n\r\n1\r\nab\r\n`],
    ['a head without end', `${OK}x: ${'a'.repeat(20_000)}`],
    ['a line without end', `${OK}transfer-encoding: chunked\r\n\r\n1;${'a'.repeat(2_000)}`],
    [
      'trailers without end',
      `${OK}transfer-encoding: chunked\r\n\r\n0\r\n${'x: y\r\n'.repeat(4_000)}`,
    ],
    ['a trailer that is no field', `${OK}transfer-encoding: chunked\r\n\r\n0\r\n${OK}\r\n`],
    ['a control character in a trailer', `${OK}transfer-encoding: chunked\r\n\r\n0\r\na: \0\r\n`],
    ['interim answers without end', 'HTTP/1.1 100 C\r\n\r\n'.repeat(4_000)],
  ])('%s', (_name, text) => {
    expect(() => read(text)).toThrow(BadAnswer)
    expect(() => read(text, [1])).toThrow(BadAnswer)
  })
})

test('any answer: cut anywhere, it is the same', () => {
  const body = fc.string({ unit: 'binary', maxLength: 40 }).map((text) => Buffer.from(text))
  const answer = fc
    .tuple(fc.array(body, { maxLength: 4 }), fc.boolean())
    .map(([bodies, isChunked]) => {
      const whole = Buffer.concat(bodies).toString('latin1')
      const chunks = bodies
        .filter(({ length }) => length > 0)
        .map((part) => `${part.length.toString(16)}\r\n${part.toString('latin1')}\r\n`)
      const text = isChunked
        ? `${OK}transfer-encoding: chunked\r\n\r\n${chunks.join('')}0\r\n\r\n`
        : `${OK}content-length: ${String(whole.length)}\r\n\r\n${whole}`
      return { text, whole }
    })
  const lengths = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 5 })
  fc.assert(
    fc.property(answer, lengths, ({ text, whole }, cut) => {
      expect(read(text, cut)).toMatchObject({ body: whole, isDone: true, left: 0 })
    }),
    { numRuns: runs(5_000) },
  )
})

test('any bytes: they are an answer, a part of one, or refused', () => {
  const bytes = fc
    .array(
      fc.oneof(
        fc.constantFrom(
          OK,
          'HTTP/1.1 100 C\r\n',
          'content-length: 2\r\n',
          '\r\n',
          '\r',
          '\n',
          'ab',
        ),
        fc.constantFrom('transfer-encoding: chunked\r\n', '0\r\n', '2\r\n', ':', ' ', '\0'),
      ),
      { maxLength: 12 },
    )
    .map((pieces) => pieces.join(''))
  const outcome = (text: string, lengths: readonly number[]): unknown => {
    try {
      return read(text, lengths)
    } catch (error) {
      if (error instanceof BadAnswer) return 'refused'
      throw error
    }
  }
  fc.assert(
    fc.property(bytes, (text) => {
      const whole = outcome(text, [Math.max(1, text.length)])
      expect(outcome(text, [1])).toEqual(whole)
    }),
    { numRuns: runs(20_000) },
  )
})
