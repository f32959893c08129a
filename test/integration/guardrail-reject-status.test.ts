// A reject with a status that has no content by definition: the webhook's text is not sent, because a client would take
// it for the beginning of the next reply.

import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { answerJson, chat, type GuardedStack, startGuardedStack } from '../support/guardrails.js'
import { sendRaw } from '../support/raw-http.js'

const PATH = '/both/v1/chat/completions'

let stack: GuardedStack

beforeAll(async () => {
  stack = await startGuardedStack()
})
afterAll(() => stack.close())

const CASES = ['/request', '/response'].flatMap((phase) =>
  [204, 205, 304].map((status) => [phase, status] as const),
)

test.each(CASES)('%s: %i', async (phase, status) => {
  stack.reset()
  stack.webhook.answer((request, response) => {
    const reject = { body: 'blocked', status_code: status }
    answerJson({ action: request.url === phase ? reject : {} })(request, response)
  })
  const body = chat('hi')
  const request = (more: string): string =>
    `POST ${PATH} HTTP/1.1\r\nhost: gw\r\ncontent-type: application/json\r\n${more}content-length: ${String(body.length)}\r\n\r\n${body}`
  const answers = await sendRaw(stack.port, request('') + request('connection: close\r\n'))
  const heads = answers.split('\r\n\r\n')
  expect(heads.map((head) => head.split('\r\n')[0]?.slice(0, 12))).toEqual([
    `HTTP/1.1 ${String(status)}`,
    `HTTP/1.1 ${String(status)}`,
    '',
  ])
  expect(answers).toContain('x-content-type-options: nosniff')

  const session = connectHttp2(stack.origin)
  const stream = session.request({
    ':method': 'POST',
    ':path': PATH,
    'content-type': 'application/json',
  })
  stream.end(body)
  const [headers] = (await once(stream, 'response')) as [Record<string, unknown>]
  expect([headers[':status'], await text(stream)]).toEqual([status, ''])
  session.close()
})
