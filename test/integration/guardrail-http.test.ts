// HTTP on guarded routes: large bodies, encodings, versions, trailers, and other things that a client or an LLM may do.
// The length that is declared is always the length that is sent.

import { once } from 'node:events'
import { type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http'
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2'
import { text } from 'node:stream/consumers'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { frame, mebibyte } from '../extproc/support/zstd.js'
import {
  answerJson,
  chat,
  completion,
  type GuardedStack,
  type Reply,
  startGuardedStack,
} from '../support/guardrails.js'
import { type Answer, send } from '../support/http.js'
import { sendRaw } from '../support/raw-http.js'

const MIB = 1024 * 1024
const PATH = '/both/v1/chat/completions'
const JSON_TYPE = { 'content-type': 'application/json' }

let stack: GuardedStack

beforeAll(async () => {
  stack = await startGuardedStack()
})
afterAll(() => stack.close())
beforeEach(() => stack.reset())

/** The request that reached the LLM; its Content-Length was that of its body. */
function reachedLlm(): string {
  const [recorded, ...others] = stack.llm.requests
  expect(others).toEqual([])
  const { body = '', headers = {} } = recorded ?? {}
  expect(headers['content-length']).toBe(String(Buffer.byteLength(body)))
  return body
}

function expectLength({ headers, body }: Answer): void {
  expect(headers['content-length']).toBe(String(Buffer.byteLength(body)))
}

const replyWith =
  (headers: Record<string, string>, body: string | Uint8Array, status = 200) =>
  (_request: unknown, response: ServerResponse): void => {
    response.writeHead(status, headers).end(body)
  }

const FRAMINGS: readonly Record<string, string>[] = [{}, { 'transfer-encoding': 'chunked' }]

describe('large bodies', () => {
  test('of 9 MiB, in both directions, with and without Content-Length', async () => {
    const filler = 'é'.repeat((9 * MIB) / 2)
    for (const headers of FRAMINGS) {
      stack.reset()
      stack.llm.answer(replyWith(headers, JSON.stringify(completion(`${filler} secret`))))
      const answer = await stack.post('/both', chat(`${filler} secret`), headers)
      expect(answer.status).toBe(200)
      expectLength(answer)
      expect(answer.body === JSON.stringify(completion(`${filler} ****`))).toBe(true)
      expect(reachedLlm() === chat(`${filler} ****`)).toBe(true)
    }
  })

  test('beyond 10 MiB: 413 for a request, 503 for a reply, with and without a content-length', async () => {
    const large = 'x'.repeat(10 * MIB)
    for (const headers of FRAMINGS) {
      expect((await stack.post('/both', chat(large), headers)).status).toBe(413)
      expect(stack.llm.requests).toEqual([])
      stack.llm.answer(replyWith(headers, JSON.stringify(completion(large))))
      const answer = await stack.post('/both', chat('hi'))
      expect(answer.status).toBe(503)
      expect(answer.body).not.toContain('xxx')
      stack.reset()
    }
  })
})

const rawZstd = (body: string) => frame(4, [{ type: 'raw', content: Buffer.from(body) }])
const ENCODINGS: Readonly<Record<string, (body: string) => Buffer>> = {
  gzip: (body) => gzipSync(body),
  deflate: (body) => deflateSync(body),
  'Deflate ': (body) => deflateRawSync(body),
  br: (body) => brotliCompressSync(body),
  zstd: rawZstd,
  'gzip, br': (body) => brotliCompressSync(gzipSync(body)),
}

describe.each(Object.keys(ENCODINGS))('a reply in %s', (encoding) => {
  const encode = ENCODINGS[encoding] ?? expect.unreachable()
  const encoded = (body: string) =>
    replyWith({ ...JSON_TYPE, 'content-encoding': encoding, etag: '"1"' }, encode(body))

  test.each(['a secret', 'fine'])('is read and forwarded uncompressed: %s', async (content) => {
    stack.llm.answer(encoded(JSON.stringify(completion(content))))
    const answer = await stack.post('/both', chat('hi'), { 'accept-encoding': encoding.trim() })
    expect(answer.headers).not.toHaveProperty('content-encoding')
    expect(answer.headers).not.toHaveProperty('etag')
    expectLength(answer)
    expect(JSON.parse(answer.body)).toEqual(completion(content.replace('secret', '****')))
    expect(stack.llm.requests[0]?.headers['accept-encoding']).toBe('identity')
  })

  test('that grows beyond the limit is refused', async () => {
    const bomb =
      encoding === 'zstd'
        ? frame(10, Array.from({ length: 11 }, mebibyte).flat())
        : encode(JSON.stringify(completion('x'.repeat(11 * MIB))))
    stack.llm.answer(replyWith({ ...JSON_TYPE, 'content-encoding': encoding }, bomb))
    expect((await stack.post('/both', chat('hi'))).status).toBe(503)
  })
})

describe('a reply that is not what it declares', () => {
  const events = ['a sec', 'ret', ' word'].map(
    (content) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`,
  )
  const stream = `${events.join('')}data: [DONE]\n\n`

  test.each([
    ['text/plain', ''],
    ['application/json', ''],
    ['application/octet-stream', '\r\n: hi\n\n'],
  ])('events of type %s after %j are masked', async (type, before) => {
    stack.llm.answer(replyWith({ 'content-type': type }, Buffer.from(before + stream)))
    const { status, body } = await stack.post('/both', chat('hi'))
    expect([status, body.endsWith('data: [DONE]\n\n')]).toEqual([200, true])
    expect(body).not.toMatch(/sec|ret/)
    expect(body).toContain('****')
  })

  test('JSON that is declared as events is masked', async () => {
    const reply = JSON.stringify(completion('a secret'))
    const headers = { 'content-type': 'text/event-stream', 'content-length': String(reply.length) }
    stack.llm.answer(replyWith(headers, Buffer.from(reply)))
    const { status, body } = await stack.post('/both', chat('hi'))
    expect([status, JSON.parse(body)]).toEqual([200, completion('a ****')])
  })

  const EVENTS = { 'content-type': 'text/event-stream' }
  /** Answers in chunks of a few bytes, without a length. */
  const inChunks =
    (reply: object): Reply =>
    async (_request, response) => {
      response.writeHead(200, EVENTS)
      for (const chunk of JSON.stringify(reply, undefined, 1).match(/[^]{1,9}/g) ?? [])
        await new Promise((resolve) => response.write(chunk, resolve))
      response.end()
    }

  test.each<[string, (text: string) => object]>([
    ['a chat completion', completion],
    ['a completion', (text) => ({ object: 'text_completion', choices: [{ index: 0, text }] })],
    [
      'a message of Anthropic',
      (text) => ({ type: 'message', role: 'assistant', content: [{ type: 'text', text }] }),
    ],
    [
      'a response',
      (text) => ({
        object: 'response',
        output: [{ type: 'message', content: [{ type: 'output_text', text }] }],
      }),
    ],
    ['Gemini', (text) => ({ candidates: [{ content: { parts: [{ text }] } }] })],
    ['any other object', (text) => ({ type: 'x', some: [{ where: text }] })],
  ])('JSON of %s that comes in chunks of events is masked', async (_what, reply) => {
    stack.llm.answer(inChunks(reply('a secret')))
    const { status, body } = await stack.post('/both', chat('hi'))
    expect([status, JSON.parse(body)]).toEqual([200, reply('a ****')])
  })

  test('JSON that comes in chunks of events and is rejected ends as JSON', async () => {
    stack.llm.answer(inChunks(completion('block me')))
    const { status, body } = await stack.post('/both', chat('hi'))
    expect([status, JSON.parse(body)]).toMatchObject([200, { error: { code: 'content_filter' } }])
    expect(body).not.toContain('block me')
  })

  test('a page is 503', async () => {
    for (const page of ['<p>data: a secret</p>', 'data is here', 'a secret'])
      for (const type of ['text/html', 'application/json']) {
        stack.llm.answer(replyWith({ 'content-type': type }, Buffer.from(page)))
        expect((await stack.post('/both', chat('hi'))).status).toBe(503)
      }
  })
})

describe('texts that are hard to write down', () => {
  const latin1 = (body: string) => Buffer.from(body, 'latin1')

  test('invalid UTF-8: 400, and 503 for a reply', async () => {
    for (const bytes of ['\xff', '\xed\xa0\x80', '\xc0\xaf']) {
      const body = latin1(chat(bytes))
      const answer = await postBytes(body)
      expect(answer.status).toBe(400)
      stack.llm.answer(replyWith(JSON_TYPE, latin1(JSON.stringify(completion(bytes)))))
      expect((await stack.post('/both', chat('hi'))).status).toBe(503)
    }
    expect(stack.webhook.requests.map(({ url }) => url)).toEqual([
      '/request',
      '/request',
      '/request',
    ])
  })

  test('a reply with a member twice, or nested too deeply: 503', async () => {
    const said = JSON.stringify(completion('a secret'))
    for (const body of [
      said.replace('{', '{"choices":[],'),
      said.replace('{', `{"x":${'['.repeat(200)}${']'.repeat(200)},`),
    ]) {
      stack.llm.answer(replyWith(JSON_TYPE, body))
      const answer = await stack.post('/both', chat('hi'))
      expect(answer.status).toBe(503)
      expect(answer.body).not.toContain('secret')
    }
  })
})

describe('replies that are none of an LLM', () => {
  test.each<[number, Record<string, string>, string]>([
    [400, { 'content-type': 'text/plain' }, 'no'],
    [404, { 'content-type': 'text/html', 'x-llm': 'yes', etag: '"1"' }, '<p>no</p>'],
    [503, { 'retry-after': '7' }, ''],
  ])('%i passes as it is where nothing changes', async (status, headers, body) => {
    stack.llm.answer(replyWith(headers, body, status))
    const answer = await stack.post('/both', chat('hi'))
    expect(answer).toMatchObject({ status, headers, body })
  })

  test('204 has neither body nor length; 206 is a part that cannot be judged', async () => {
    stack.llm.answer(replyWith({}, '', 204))
    const empty = await stack.post('/both', chat('hi'))
    expect(empty).toMatchObject({ status: 204, body: '' })
    expect(empty.headers).not.toHaveProperty('content-length')
    stack.llm.answer(replyWith(JSON_TYPE, JSON.stringify(completion('a secret')), 206))
    const part = await stack.post('/both', chat('hi'), { range: 'bytes=0-9' })
    expect(part.status).toBe(503)
    expect(part.body).not.toContain('secret')
    expect(stack.llm.requests.at(-1)?.headers).not.toHaveProperty('range')
  })
})

/** A body as bytes. */
async function postBytes(body: Uint8Array): Promise<{ readonly status: number | undefined }> {
  const request = httpRequest(stack.origin + PATH, { method: 'POST', headers: JSON_TYPE })
  request.end(body)
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  await text(response)
  return { status: response.statusCode }
}

describe('ways to send', () => {
  test('Expect: 100-continue is answered before the body is there, and the body is guarded', async () => {
    const request = httpRequest(stack.origin + PATH, {
      method: 'POST',
      headers: { ...JSON_TYPE, expect: '100-continue' },
    })
    request.flushHeaders()
    await once(request, 'continue')
    request.end(chat('a secret'))
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    expect([response.statusCode, await text(response)]).toEqual([
      200,
      JSON.stringify(completion('hello')),
    ])
    expect(reachedLlm()).toBe(chat('a ****'))
  })

  test('chunks of one byte, and trailers after them, in both directions', async () => {
    stack.llm.answer((_request, response) => {
      response.writeHead(200, { ...JSON_TYPE, trailer: 'x-sum' })
      for (const character of JSON.stringify(completion('a secret'))) response.write(character)
      response.addTrailers({ 'x-sum': '1' })
      response.end()
    })
    const chunks = [...chat('a secret')].map((character) => `1\r\n${character}\r\n`).join('')
    const answer = await sendRaw(
      stack.port,
      `POST ${PATH} HTTP/1.1\r\nhost: gw\r\ncontent-type: application/json\r\nconnection: close\r\n` +
        `transfer-encoding: chunked\r\ntrailer: x-sum\r\n\r\n${chunks}0\r\nx-sum: 1\r\n\r\n`,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 200 /)
    expect(answer).toContain('a ****')
    expect(answer).not.toContain('secret')
    expect(stack.llm.requests[0]?.body).toBe(chat('a ****'))
  })

  test('HTTP/1.0 gets 426, and no webhook is asked', async () => {
    const body = chat('a secret')
    const answer = await sendRaw(
      stack.port,
      `POST ${PATH} HTTP/1.0\r\nhost: gw\r\ncontent-type: application/json\r\ncontent-length: ${String(body.length)}\r\n\r\n${body}`,
    )
    expect(answer).toMatch(/^HTTP\/1\.[01] 426 /)
    expect([stack.llm.requests, stack.webhook.requests]).toEqual([[], []])
  })

  test('an upgrade of the connection is refused, with a body or without: nothing reaches the LLM', async () => {
    const headers = {
      connection: 'upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
    }
    expect((await send(stack.origin, '/both/v1/realtime')).status).toBe(200)
    expect(stack.llm.requests).toHaveLength(1)
    stack.reset()
    // Codex falls back on HTTP after a 426 alone.
    const refused = await send(stack.origin, '/both/v1/responses', { headers })
    expect([refused.status, refused.body]).toEqual([
      426,
      expect.stringContaining('without the header Upgrade'),
    ])
    // No protocol would be accepted (decision 8h).
    expect(refused.headers).not.toHaveProperty('upgrade')
    expect((await stack.post('/both', chat('a secret'), headers)).status).toBe(426)
    expect([stack.llm.requests, stack.webhook.requests]).toEqual([[], []])
  })
})

describe('HTTP/2', () => {
  let session: ClientHttp2Session
  beforeAll(() => {
    session = connectHttp2(stack.origin)
  })
  afterAll(() => void session.close())

  const post = async (body: string, trailers?: Record<string, string>) => {
    const stream = session.request(
      { ':method': 'POST', ':path': PATH, ...JSON_TYPE },
      { waitForTrailers: trailers !== undefined },
    )
    if (trailers !== undefined) stream.on('wantTrailers', () => stream.sendTrailers(trailers))
    stream.end(body)
    const [headers] = (await once(stream, 'response')) as [Record<string, string | number>]
    return { headers, body: await text(stream) }
  }

  test.each([undefined, { 'x-sum': '1' }])('a body, with trailers %j', async (trailers) => {
    stack.llm.answer(answerJson(completion('a secret')))
    const { headers, body } = await post(chat('my secret'), trailers)
    expect(headers).toMatchObject({ ':status': 200, 'content-length': String(body.length) })
    expect(JSON.parse(body)).toEqual(completion('a ****'))
    expect(stack.llm.requests.map((request) => request.body)).toEqual([chat('my ****')])
  })

  test('many at once on one connection: each has its own answer', async () => {
    stack.llm.answer((request, response) => {
      const { messages } = JSON.parse(request.body) as { messages: [{ content: string }] }
      answerJson(completion(messages[0].content))(request, response)
    })
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => post(chat(`secret ${String(index)}`))),
    )
    expect(answers.map(({ body }) => JSON.parse(body) as unknown)).toEqual(
      Array.from({ length: 50 }, (_, index) => completion(`**** ${String(index)}`)),
    )
  })
})
