// What the decision log says about a request or reply that a guard refuses without a verdict: which webhook failed, where
// the policy names it, and the tool.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { type Backend, startBackend } from '../support/backend.js'
import { answerJson, chat, completion, guardedRoute, hook, service } from '../support/guardrails.js'
import { type Answer, send } from '../support/http.js'
import {
  events,
  guardedMcp,
  json,
  type McpGuardStack,
  startMcpGuardStack,
  toolCall,
} from '../support/mcp-guards.js'
import { proxyBackend } from '../support/resources.js'

let llm: Backend
let stack: McpGuardStack

/** The second webhook cannot be reached. */
const PAIR = [hook('guard'), hook('broken')]

beforeAll(async () => {
  llm = await startBackend('llm')
  stack = await startMcpGuardStack(() => [
    // Nothing listens on port 1.
    ...service('broken', 1),
    proxyBackend('llm', llm),
    ...guardedRoute('/prompts', { request: PAIR }),
    ...guardedRoute('/replies', { response: PAIR }),
    ...guardedRoute('/streams', { response: PAIR }),
    ...guardedRoute('/one', { request: [hook('guard')] }),
    ...guardedMcp('/calls', 'raw', { request: PAIR }),
    ...guardedMcp('/results', 'raw', { response: PAIR }),
    ...guardedMcp('/notes', 'raw', { response: PAIR }),
  ])
})
afterAll(async () => {
  await stack.close()
  await llm.close()
})
beforeEach(() => {
  stack.reset()
  llm.answer(answerJson(completion('hello')))
})

/** The one refusal in the log that names the request that was answered so. */
async function lineOf({ headers }: Answer): Promise<Record<string, unknown>> {
  const id = String(headers['x-request-id'])
  return eventually(() => {
    const found = stack
      .log()
      .split('\n')
      .filter((line) => line.includes(id) && line.includes('guardrail refusal'))
    expect(found, stack.log()).toHaveLength(1)
    return JSON.parse(found[0] ?? '') as Record<string, unknown>
  })
}

/** FILE:LINE of the second entry in the list of webhooks of this policy. */
function second(policy: string): string {
  const file = join(stack.folder, 'resources.yaml')
  const lines = readFileSync(file, 'utf8').split('\n')
  const start = lines.findLastIndex((line) => line === `  name: ${policy}`)
  const hooks = lines.flatMap((line, at) => (at > start && /^ +- webhook:$/.test(line) ? [at] : []))
  return `${file}:${String((hooks[1] ?? NaN) + 1)}`
}

const ask = (path: string, body: string): Promise<Answer> =>
  send(stack.origin, `${path}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })

const BROKEN = {
  level: 'info',
  decision: 'deny',
  reason: 'guardrail_unavailable',
  webhook: 'service/default/broken/80',
  problem: 'a webhook is unavailable',
}
const CALL = toolCall(7, 'fetch', { url: 'https://page.example/' })
const RESULT = '{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"a page"}]}}'

test('a prompt: the webhook without a verdict, and its place in the policy', async () => {
  const answer = await ask('/prompts', chat('hi'))
  expect(answer.status).toBe(503)
  expect(await lineOf(answer)).toMatchObject({
    ...BROKEN,
    status: 503,
    phase: 'request',
    route: 'default/prompts',
    policy: 'default/prompts',
    rule: 'promptGuard.request[1]',
    ruleSource: second('prompts'),
  })
})

test('a reply, whole and streamed', async () => {
  const expected = { ...BROKEN, status: 503, phase: 'response', rule: 'promptGuard.response[1]' }
  const whole = await ask('/replies', chat('hi'))
  expect(whole.status).toBe(503)
  expect(await lineOf(whole)).toMatchObject({ ...expected, ruleSource: second('replies') })
  const event = {
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta: { content: 'x' } }],
  }
  llm.answer(events(`data: ${JSON.stringify(event)}\n\n`, 'data: [DONE]\n\n'))
  const streamed = await ask('/streams', chat('hi', { stream: true }))
  expect(streamed.body).toContain('guardrail_unavailable')
  expect(await lineOf(streamed)).toMatchObject({ ...expected, ruleSource: second('streams') })
})

test('a call of a tool, and its result', async () => {
  const call = await stack.post('/calls', CALL)
  expect(call.status).toBe(503)
  expect(await lineOf(call)).toMatchObject({
    ...BROKEN,
    status: 503,
    phase: 'request',
    tool: 'fetch',
    rule: 'mcp.guard.request[1]',
    ruleSource: second('calls-guard'),
  })
  stack.server.answer(json(RESULT))
  const result = await stack.post('/results', CALL)
  expect(result.status).toBe(503)
  expect(await lineOf(result)).toMatchObject({
    ...BROKEN,
    status: 503,
    phase: 'response',
    tool: 'fetch',
    rule: 'mcp.guard.response[1]',
    ruleSource: second('results-guard'),
  })
})

test('a result in an event stream, which continues', async () => {
  stack.server.answer(events(`data: ${RESULT}\n\n`))
  const answer = await stack.post('/results', CALL)
  expect([answer.status, answer.body]).toEqual([200, expect.stringContaining('-32603')])
  const line = await lineOf(answer)
  expect(line).toMatchObject({ ...BROKEN, phase: 'response', tool: 'fetch' })
  expect(line).not.toHaveProperty('status')
})

test('a notification that is dropped from an event stream', async () => {
  const note = { jsonrpc: '2.0', method: 'notifications/message', params: { data: 'news' } }
  stack.server.answer(events(`data: ${JSON.stringify(note)}\n\n`))
  const answer = await send(stack.origin, '/notes', { headers: { accept: 'text/event-stream' } })
  expect(answer.body).not.toContain('news')
  expect(await lineOf(answer)).toMatchObject({ ...BROKEN, method: 'GET', path: '/notes' })
})

test('a body that cannot be read: the only webhook, or the list of them', async () => {
  const one = await ask('/one', '{')
  expect(one.status).toBe(400)
  const line = await lineOf(one)
  expect(line).toMatchObject({
    reason: 'guardrail_unreadable',
    policy: 'default/one',
    rule: 'promptGuard.request[0]',
    ruleSource: expect.stringMatching(/resources\.yaml:\d+$/) as string,
  })
  expect(line).not.toHaveProperty('webhook')
  const several = await lineOf(await ask('/prompts', '{'))
  expect(several).toMatchObject({ policy: 'default/prompts', rule: 'promptGuard.request' })
  expect(several).not.toHaveProperty('ruleSource')
})

test('a result that cannot be read: its tool', async () => {
  stack.server.answer(json('{"jsonrpc":'))
  expect(await lineOf(await stack.post('/results', CALL))).toMatchObject({
    reason: 'guardrail_unreadable',
    status: 503,
    tool: 'fetch',
    rule: 'mcp.guard.response',
  })
})
