// Guarded replies that name another charset than UTF-8, as which they were read: a client must not read another text.

import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Recorded } from '../support/backend.js'
import { pythonCall } from '../support/clients/python-call.js'
import {
  asked,
  both,
  chat,
  completion,
  type GuardedStack,
  hook,
  startGuardedStack,
} from '../support/guardrails.js'
import { guardedMcp, toolCall } from '../support/mcp-guards.js'

let stack: GuardedStack

beforeAll(async () => {
  // The backend is an MCP server there.
  stack = await startGuardedStack(guardedMcp('/mcp', 'llm', both(hook('guard'))))
})
afterAll(() => stack.close())
beforeEach(() => stack.reset())

/** "secret" in UTF-7, and no such word in UTF-8. */
const HIDDEN = '+AHMAZQBjAHIAZQB0-'

const answerAs = (type: string, body: string, status = 200): void =>
  stack.llm.answer((_request, response) => {
    response.writeHead(status, { 'content-type': type }).end(body)
  })

const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`
const delta = event({ choices: [{ index: 0, delta: { content: HIDDEN } }] })

describe("an LLM's reply", () => {
  test.each([
    ['text/event-stream; charset=utf-7', delta, 'text/event-stream; charset=utf-8'],
    ['text/event-stream;CHARSET="UTF-7"', delta, 'text/event-stream; charset=utf-8'],
    ["text/event-stream; charset*=us-ascii''utf-7", delta, 'text/event-stream; charset=utf-8'],
    ['text/event-stream; charset=utf-8; charset=utf-7', delta, 'text/event-stream; charset=utf-8'],
    [
      'application/json; charset=utf-7',
      JSON.stringify(completion(HIDDEN)),
      'application/json; charset=utf-8',
    ],
    [
      'text/plain; charset=unicode_escape',
      JSON.stringify(completion('a secret')),
      'text/plain; charset=utf-8',
    ],
  ])('%s', async (type, body, guarded) => {
    answerAs(type, body)
    const answer = await stack.post('/both', chat('hi'))
    expect(answer.status).toBe(200)
    expect(answer.headers['content-type']).toBe(guarded)
    expect(answer.body).toContain(body.includes(HIDDEN) ? HIDDEN : '****')
  })

  test.each(['text/event-stream', 'text/event-stream; charset=utf-8', 'Text/Event-Stream;a=b'])(
    '%s stays as it is',
    async (type) => {
      answerAs(type, delta)
      expect((await stack.post('/both', chat('hi'))).headers['content-type']).toBe(type)
    },
  )

  test('an error page is read as UTF-8 too', async () => {
    answerAs('text/html; charset=iso-8859-1', '<p>a secret</p>', 502)
    const { status, headers, body } = await stack.post('/both', chat('hi'))
    expect([status, headers['content-type'], body]).toEqual([
      502,
      'text/html; charset=utf-8',
      '<p>a ****</p>',
    ])
  })
})

/** Answers of an MCP server with one tool. */
const RESULTS: Readonly<Record<string, object>> = {
  initialize: {
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 's', version: '1' },
  },
  'tools/list': { tools: [{ name: 'fetch', inputSchema: { type: 'object' } }] },
  'tools/call': { content: [{ type: 'text', text: `a page, ${HIDDEN}` }] },
}

/** Answers every request by an event of this content type. */
const answerAll =
  (type: string) =>
  ({ body }: Recorded, response: ServerResponse): void => {
    const { id, method = '' } = JSON.parse(body || '{}') as { id?: number; method?: string }
    const result = RESULTS[method]
    if (id === undefined) response.writeHead(method === '' ? 405 : 202).end()
    else if (result === undefined)
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } }))
    else
      response
        .writeHead(200, { 'content-type': type })
        .end(`event: message\n${event({ jsonrpc: '2.0', id, result })}`)
  }

describe("an MCP server's reply", () => {
  test('of events in UTF-7: the Python client reads what the webhook has seen', async () => {
    stack.llm.answer(answerAll('text/event-stream; charset=utf-7'))
    const { text } = await pythonCall(`${stack.origin}/mcp`, 'fetch')
    expect(text).toBe(`a page, ${HIDDEN}`)
    const shown = asked(stack.webhook).flatMap(({ choices = [] }) => choices)
    expect(shown.map(({ message }) => message.content)).toContain(text)
  })

  test.each([
    ['application/json; charset=utf-7', '{"jsonrpc":"2.0","id":7,"result":{"content":[]}}'],
    ['text/plain; charset=utf-7', HIDDEN],
    ['text/plain; charset=utf-7', 'a secret'],
  ])('%s: %s', async (type, body) => {
    answerAs(type, body)
    const answer = await stack.post('/mcp', JSON.stringify(toolCall(7, 'fetch', {})))
    expect(answer.headers['content-type']).toMatch(/; charset=utf-8$/)
    expect(answer.body).not.toContain('secret')
  })
})
