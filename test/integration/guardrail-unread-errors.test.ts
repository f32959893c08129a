// LLM errors that hide model output where strict parsers find no JSON: through the whole product, none of it passes.

import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { chat, type GuardedStack, startGuardedStack } from '../support/guardrails.js'

const MIB = 1024 * 1024
const JSON_TYPE = { 'content-type': 'application/json' }

let stack: GuardedStack

beforeAll(async () => {
  stack = await startGuardedStack()
})
afterAll(() => stack.close())
beforeEach(() => stack.reset())

const failWith =
  (headers: Record<string, string>, body: string | Uint8Array) =>
  (_request: unknown, response: ServerResponse): void => {
    response.writeHead(400, headers).end(body)
  }

const failed = '{"error":{"message":"x","failed_generation":"a secret"}}'
test.each<[string, Uint8Array, Record<string, string>]>([
  ['a member twice', Buffer.from(failed.replace('{"m', '{"failed_generation":"","m')), {}],
  ['a byte that is not UTF-8', Buffer.from(failed.replace('x', '\xff'), 'latin1'), {}],
  ['a byte order mark', Buffer.from(`\ufeff${failed}`), {}],
  ['UTF-16', Buffer.from(`\ufeff${failed}`, 'utf16le'), {}],
  ['JSON lines', Buffer.from(`{}\n${failed}`), {}],
  ['a list that has no end', Buffer.from(` \n[${failed},`), { 'content-type': 'text/plain' }],
  ['a list with a value of JavaScript', Buffer.from(`[NaN,${failed}]`), {}],
  ['a list behind a blank of clients', Buffer.from(`\v[${failed}]`), {}],
  ['an end that is missing', gzipSync(failed).subarray(0, -8), { 'content-encoding': 'gzip' }],
  ['an encoding of tomorrow', Buffer.from(failed), { 'content-encoding': 'new' }],
  ['more than may be read', Buffer.from(failed + ' '.repeat(10 * MIB)), {}],
])('an error whose JSON cannot be read, %s: 503', async (_name, body, headers) => {
  const length = { 'content-length': String(body.length) }
  stack.llm.answer(failWith({ ...JSON_TYPE, ...headers, ...length }, body))
  const answer = await stack.post('/both', chat('hi'))
  expect(answer.status).toBe(503)
  expect(answer.body).not.toContain('secret')
})

test.each(['text/event-stream', 'application/json; of=text/event-stream'])(
  'an error that is JSON is read, also as %s',
  async (type) => {
    stack.llm.answer(failWith({ 'content-type': type }, failed))
    const answer = await stack.post('/both', chat('hi'))
    expect(answer).toMatchObject({ status: 400, body: failed.replace('secret', '****') })
  },
)

const HIDDEN = String.raw`{"error":{"message":"s\u0065cret"}}`
test.each([
  [`[null,${HIDDEN}]`, '[null,{"error":{"message":"****"}}]'],
  [`[true,${HIDDEN}]`, '[true,{"error":{"message":"****"}}]'],
  [`[ false,${HIDDEN}]`, '[ false,{"error":{"message":"****"}}]'],
  [String.raw`"a s\u0065cret"`, '"a ****"'],
])('an error is shown as its client reads it: %s', async (body, masked) => {
  for (const type of ['application/json', 'text/plain']) {
    stack.llm.answer(failWith({ 'content-type': type }, body))
    expect(await stack.post('/both', chat('hi'))).toMatchObject({ status: 400, body: masked })
  }
})
