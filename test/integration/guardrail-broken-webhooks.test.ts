// Guardrail webhooks that are no help, in every way: the policy's failureMode decides, and nothing passes unseen by mistake.

import { createServer as createTcpServer, type Server } from 'node:net'
import { once } from 'node:events'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  answerJson,
  both,
  chat,
  guardedRoute,
  hook,
  sample,
  service,
  startGuardedStack,
  type GuardedStack,
  type Reply,
} from '../support/guardrails.js'
import { freePort } from '../support/ports.js'

const MAX_BODY = 256 * 1024

let hanging: Server
let stack: GuardedStack

beforeAll(async () => {
  hanging = createTcpServer().listen(0, '127.0.0.1')
  await once(hanging, 'listening')
  const { port: hangingPort } = hanging.address() as { port: number }
  stack = await startGuardedStack(
    [
      ...service('hanging', hangingPort, '200ms'),
      ...service('nobody', await freePort()),
      ...guardedRoute('/both', both(hook('guard'))),
      ...guardedRoute('/open', both(hook('guard', { failureMode: 'FailOpen' }))),
      ...guardedRoute('/slow', { request: [hook('hanging')] }),
      ...guardedRoute('/late', { response: [hook('hanging')] }),
      ...guardedRoute('/away', { request: [hook('nobody')] }),
    ],
    { flags: ['--max-body-bytes', String(MAX_BODY)] },
  )
})
afterAll(async () => {
  await stack.close()
  hanging.close()
})
beforeEach(() => stack.reset())

describe('a webhook that is no help', () => {
  const MODIFY = { body: { messages: [{ role: 'user', content: 'x' }] } }
  const broken: Record<string, Reply> = {
    'answers 500 with an allow': answerJson({ action: {} }, 500),
    redirects: (_request, response) => void response.writeHead(302, { location: '/request' }).end(),
    'is not JSON': (_request, response) => void response.end('<html>'),
    'has no action': answerJson({}),
    'has a null action': answerJson({ action: null }),
    'rejects without a status': answerJson({ action: { body: 'no' } }),
    'rejects with a status in quotes': answerJson({ action: { body: 'no', status_code: '403' } }),
    'rejects with status 99': answerJson({ action: { body: 'no', status_code: 99 } }),
    'gives a status alone': answerJson({ action: { status_code: 403 } }),
    'has an empty body': answerJson({ action: { body: {} } }),
    'modifies the other kind': answerJson({
      action: { body: { choices: [{ message: { role: 'user', content: 'x' } }] } },
    }),
    'modifies another count': answerJson({ action: { body: { messages: [] } } }),
    'modifies the role': answerJson({
      action: { body: { messages: [{ role: 'system', content: 'x' }] } },
    }),
    'modifies to null': answerJson({
      action: { body: { messages: [{ role: 'user', content: null }] } },
    }),
    'answers more than it may': answerJson({
      action: { ...MODIFY, reason: 'x'.repeat(2 * MAX_BODY) },
    }),
    'breaks the connection': (_request, response) => void response.socket?.destroy(),
  }

  test.each(Object.keys(broken))(
    '%s: 503 when it fails closed, on when it fails open',
    async (name) => {
      stack.webhook.answer(broken[name] ?? sample)
      const closed = await stack.post('/both', chat('a secret'), { origin: 'https://app.example' })
      expect(closed.status).toBe(503)
      expect(JSON.parse(closed.body)).toMatchObject({ error: { code: 'guardrail_unavailable' } })
      expect(closed.headers['access-control-allow-origin']).toBe('https://app.example')
      expect(stack.llm.requests).toEqual([])
      const open = await stack.post('/open', chat('a secret'))
      expect(open.status).toBe(200)
      expect(stack.llm.requests[0]?.body).toBe(chat('a secret'))
      stack.webhook.answer(sample)
      expect((await stack.post('/both', chat('hi'))).status).toBe(200)
    },
  )

  test('is away, or hangs beyond its deadline: 503, and soon', async () => {
    expect((await stack.post('/away', chat('hi'))).status).toBe(503)
    const start = performance.now()
    expect((await stack.post('/slow', chat('hi'))).status).toBe(503)
    expect(performance.now() - start).toBeLessThan(5_000)
    expect(stack.llm.requests).toEqual([])
    const late = await stack.post('/late', chat('hi'))
    expect(late.status).toBe(503)
    expect(late.body).not.toContain('hello')
  })

  test('fails in the response phase: 503 in place of the reply', async () => {
    stack.webhook.answer((request, response) =>
      request.url === '/response' ? void response.writeHead(500).end() : sample(request, response),
    )
    const answer = await stack.post('/both', chat('hi'))
    expect(answer.status).toBe(503)
    expect(answer.body).not.toContain('hello')
  })
})
