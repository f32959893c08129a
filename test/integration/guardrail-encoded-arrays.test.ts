// Gemini streams without alt=sse from an LLM that compresses despite being asked not to: checked as they arrive, and
// forwarded uncompressed (decisions 18 and 20).

import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ENCODERS, flushed } from '../support/encoded-stream.js'
import {
  asked,
  both,
  guardedRoute,
  type GuardedStack,
  hook,
  startGuardedStack,
} from '../support/guardrails.js'
import {
  ARRAY_HEADERS,
  askForArray,
  END,
  type Item,
  item,
  itemsOf,
  said,
} from '../support/json-array.js'
import { nextReply, type OpenReply } from '../support/streaming-llm.js'

let stack: GuardedStack

beforeAll(async () => {
  stack = await startGuardedStack([
    ...guardedRoute('/open', both(hook('guard', { failureMode: 'FailOpen' }))),
  ])
})
afterAll(() => stack.close())
beforeEach(() => stack.reset())

const replyOf = (encoding: string): Promise<OpenReply> =>
  nextReply(stack.llm, { ...ARRAY_HEADERS, 'content-encoding': encoding, etag: '"1"' })

/** Returns what the client receives of these bytes, sent at once or byte by byte. */
async function whole(encoding: string, pieces: readonly Uint8Array[], path?: string) {
  const reply = replyOf(encoding)
  const answer = askForArray(stack.origin, path)
  const { response } = await reply
  for (const piece of pieces) await new Promise((written) => response.write(piece, written))
  response.end()
  const incoming = await answer
  return {
    status: incoming.statusCode,
    headers: incoming.headers,
    body: await text(incoming),
  }
}

const bytesOf = (pieces: readonly Uint8Array[]): readonly Uint8Array[] =>
  [...Buffer.concat(pieces)].map((byte) => Uint8Array.of(byte))

const LONG = 'a word and '.repeat(400)
const BODY = ` \n[${item('a se')}\n,\r\n${item('cret, "]')},\n${item('', END)}]\n`

describe.each(Object.keys(ENCODERS))('%s', (encoding) => {
  test('text comes while the model speaks, masked', async () => {
    const texts = [`[${item(LONG)}`, `,${item(LONG)}`, `,${item('a sec')}`, `,${item('ret')}]`]
    const pieces = await flushed(encoding, texts)
    const reply = replyOf(encoding)
    const answer = askForArray(stack.origin)
    const { response } = await reply
    for (const piece of pieces.slice(0, 2)) response.write(piece)
    let got = ''
    let isEnded = false
    for await (const piece of (await answer).setEncoding('utf8')) {
      got += piece as string
      if (isEnded) continue
      // This text left before the model's end.
      isEnded = true
      for (const last of pieces.slice(2)) response.write(last)
      response.end()
    }
    expect(said(itemsOf(got))).toBe(`${LONG}${LONG}a ****`)
  })

  test('bytes one by one: what is sent is plain, byte for byte but for the mask', async () => {
    const { status, headers, body } = await whole(
      encoding,
      bytesOf(await flushed(encoding, [BODY])),
    )
    expect(status).toBe(200)
    expect(body).toMatch(/^ \n\[[^]*,\r\n[^]*\]\n$/)
    expect(said(itemsOf(body))).toBe('a ****, "]')
    expect(headers).toMatchObject(ARRAY_HEADERS)
    for (const name of ['content-encoding', 'etag', 'content-length'])
      expect(headers).not.toHaveProperty(name)
  })

  test('white space that comes long before it is part of the array', async () => {
    const pieces = await flushed(encoding, [' ', '\n \r\n', `[${item('a secret')}]`])
    const { body } = await whole(encoding, pieces)
    expect(body).toBe(` \n \r\n[${item('a ****')}]`)
  })

  test('an object is held until all of it is there', async () => {
    const object = item('a secret')
    const pieces = await flushed(encoding, [
      object.slice(0, 1),
      object.slice(1, 90),
      object.slice(90),
    ])
    const { status, headers, body } = await whole(encoding, pieces)
    expect(status).toBe(200)
    expect(headers).toHaveProperty('content-length', String(body.length))
    expect(headers).not.toHaveProperty('content-encoding')
    expect(said([JSON.parse(body) as Item])).toBe('a ****')
  })

  test.each(['breaks off', 'is damaged'])('that %s ends the array with an error', async (how) => {
    const [first = Buffer.of()] = await flushed(encoding, [`[${item(LONG)}`, item('a secret')])
    const reply = replyOf(encoding)
    const answer = askForArray(stack.origin)
    const { response } = await reply
    response.write(first)
    // Its headers are sent once it is known to be an array.
    const incoming = await answer
    expect(incoming.statusCode).toBe(200)
    response.end(how === 'is damaged' ? Buffer.alloc(64, 0xff) : undefined)
    const body = await text(incoming)
    expect(itemsOf(body).at(-1)).toMatchObject({ error: { code: 503, status: 'UNAVAILABLE' } })
    expect(body).toContain('compressed in a way that cannot be read')
  })

  test.each(['breaks off', 'is damaged'])('that %s before its first byte: 503', async (how) => {
    const [first = Buffer.of()] = await flushed(encoding, [`[${item('a secret')}`])
    const pieces = how === 'is damaged' ? [Buffer.alloc(64, 0xff)] : [first.subarray(0, 1)]
    const { status, body } = await whole(encoding, pieces)
    expect(status).toBe(503)
    expect(body).toContain('compressed in a way that cannot be read')
  })

  test('that is rejected ends as an array, and the model is left', async () => {
    const [first] = await flushed(encoding, [`[${item('now I block')},${item(LONG)}`])
    const reply = replyOf(encoding)
    const answer = askForArray(stack.origin)
    const llm = await reply
    llm.response.write(first)
    const items = itemsOf(await text(await answer))
    expect(items.at(-1)).toMatchObject({ error: { code: 403, message: 'request blocked' } })
    expect(said(items)).not.toContain('block')
    await llm.closed
  })

  test('that the client leaves is left by all', async () => {
    const [first] = await flushed(encoding, [`[${item(LONG)},${item(LONG)}`])
    const leaving = new AbortController()
    const reply = replyOf(encoding)
    const answer = askForArray(stack.origin, '/both', leaving.signal)
    const llm = await reply
    llm.response.write(first)
    await answer
    leaving.abort()
    await llm.closed
  })
})

const MB = 1024 * 1024

test.each([
  ['one item', `[${item('0'.repeat(11 * MB))}]`],
  ['white space in front of it', `${' '.repeat(11 * MB)}[${item('a secret')}]`],
  ['an object', item('0'.repeat(11 * MB))],
])('what decodes to more than may be held is refused: %s', async (_name, body) => {
  const { body: got } = await whole('gzip', await flushed('gzip', [body]))
  expect(got).toContain('The guardrail cannot read the reply')
  expect(got.length).toBeLessThan(1000)
  // Nothing of it; a stream that was left before this test may still be asked about.
  expect(JSON.stringify(asked(stack.webhook))).not.toMatch(/0000|a secret/)
})

test('an array behind more white space than is looked through is held, and refused', async () => {
  const body = `${' '.repeat(MB)}[${item('a secret')}]`
  const { status, body: got } = await whole('gzip', await flushed('gzip', [body]))
  expect(status).toBe(503)
  expect(got).not.toContain('secret')
})

test('an unsupported encoding: 503, or unchanged if every webhook fails open', async () => {
  const refused = await whole('compress', [Buffer.from('a secret')])
  expect(refused.status).toBe(503)
  expect(refused.body).not.toContain('secret')
  const passed = await whole('compress', [Buffer.from('a secret')], '/open')
  expect(passed).toMatchObject({ status: 200, body: 'a secret' })
  expect(passed.headers).toHaveProperty('content-encoding', 'compress')
})
