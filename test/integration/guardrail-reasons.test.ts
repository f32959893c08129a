// The reason of a webhook's verdict: in the log line and, with --expose-reason, in the error that the official clients
// raise.

import Anthropic from '@anthropic-ai/sdk'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import OpenAI, { APIError } from 'openai'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type McpServer, startMcpServer } from '../../src/cli/demo/mcp-server.js'
import { eventually } from '../../testing/eventually.js'
import {
  answerJson,
  chat,
  completion,
  type GuardedStack,
  hook,
  startGuardedStack,
} from '../support/guardrails.js'
import { send } from '../support/http.js'
import { guardedMcp } from '../support/mcp-guards.js'
import { proxyBackend } from '../support/resources.js'

const REASON = 'policy 7: no names\u001b[2K'
const SHOWN = 'policy 7: no names\\u001b[2K'

let everything: McpServer
let hiding: GuardedStack
let exposing: GuardedStack

beforeAll(async () => {
  everything = await startMcpServer()
  const resources = [
    proxyBackend('everything', everything),
    ...guardedMcp('/mcp', 'everything', { request: [hook('guard')] }),
  ]
  hiding = await startGuardedStack(resources, { own: true })
  exposing = await startGuardedStack(resources, { flags: ['--expose-reason'] })
})
afterAll(() => Promise.all([hiding.close(), exposing.close(), everything.close()]))
beforeEach(() => {
  for (const stack of [hiding, exposing]) stack.reset()
})

const STACKS = [
  ['without', () => hiding],
  ['with', () => exposing],
] as const

const openai = (stack: GuardedStack) =>
  new OpenAI({ baseURL: `${stack.origin}/both/v1`, apiKey: 'k', maxRetries: 0 })

const rejecting = (stack: GuardedStack, body: string, reason = REASON) =>
  stack.webhook.answer(answerJson({ action: { body, status_code: 403, reason } }))

/** The lines of the log that are about verdicts. */
const verdicts = (stack: GuardedStack): Promise<readonly Record<string, unknown>[]> =>
  eventually(() => {
    const lines = stack
      .log()
      .split('\n')
      .filter((line) => line.includes('"guardrail verdict"'))
    expect(lines).not.toHaveLength(0)
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  })

const raisedBy = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (error: unknown) => error,
  )

const ask = (stack: GuardedStack): Promise<unknown> =>
  raisedBy(
    openai(stack).chat.completions.create({
      model: 'm',
      messages: [{ role: 'user', content: 'my prompt' }],
    }),
  )

async function askStreaming(stack: GuardedStack): Promise<unknown> {
  const chunk = {
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta: { content: 'hello' } }],
  }
  stack.llm.answer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`)
  })
  stack.webhook.answer((request, response) => {
    const reject = { body: 'reply blocked', status_code: 451, reason: REASON }
    answerJson({ action: request.url === '/request' ? {} : reject })(request, response)
  })
  const stream = await openai(stack).chat.completions.create({
    model: 'm',
    messages: [{ role: 'user', content: 'hi' }],
    stream: true,
  })
  return raisedBy(
    (async () => {
      for await (const each of stream) expect(each).toBeUndefined()
    })(),
  )
}

test.each(STACKS)('%s the flag a rejected prompt has its reason in the log', async (name, of) => {
  const stack = of()
  rejecting(stack, 'request blocked')
  const answer = await stack.post('/both', chat('my prompt'))
  // What the webhook says itself stays as it is.
  expect(answer).toMatchObject({ status: 403, body: 'request blocked' })
  expect(answer.headers['x-gatehouse-reason']).toBe(name === 'with' ? SHOWN : undefined)
  const [line] = await verdicts(stack)
  expect(line).toMatchObject({ decision: 'deny', outcome: 'reject', reason: SHOWN })
  expect(stack.log()).not.toContain('my prompt')
})

test('beside a text, the header has a reason in any language, and never a second line', async () => {
  rejecting(exposing, '{"mine":1}', 'Rüge \u{1f600}\r\nset-cookie: a=b')
  const { status, body, headers } = await exposing.post('/both', chat('my prompt'))
  expect([status, body]).toEqual([403, '{"mine":1}'])
  expect(headers['x-gatehouse-reason']).toBe(
    String.raw`R\u00fcge \ud83d\ude00\u000d\u000aset-cookie: a=b`,
  )
  expect(headers['set-cookie']).toBeUndefined()
})

test('a change has its reason in the log, without the credentials of the request', async () => {
  hiding.llm.answer(answerJson(completion('hello')))
  hiding.webhook.answer((request, response) => {
    const masked = { messages: [{ role: 'user', content: '****' }] }
    const change = { body: masked, reason: `a name, of token-of-alice${'.'.repeat(1000)}` }
    answerJson({ action: request.url === '/request' ? change : {} })(request, response)
  })
  const answer = await hiding.post('/both', chat('bob'), { authorization: 'Bearer token-of-alice' })
  expect(answer.status).toBe(200)
  await eventually(async () => {
    const line = (await verdicts(hiding)).find(({ outcome }) => outcome === 'modify')
    expect(line?.['reason']).toMatch(/^a name, of \[token\]\.+$/)
    expect(line?.['reason']).toHaveLength(256)
  })
})

test('a reject without a text: empty, and with the flag an error of the API with the reason', async () => {
  for (const [, of] of STACKS) rejecting(of(), '')
  const plain = await hiding.post('/both', chat('my prompt'))
  expect(plain).toMatchObject({ status: 403, body: '' })
  const error = await ask(exposing)
  expect(error).toBeInstanceOf(OpenAI.PermissionDeniedError)
  expect((error as APIError).error).toEqual({
    message: SHOWN,
    type: 'invalid_request_error',
    param: null,
    code: 'content_filter',
    reason: SHOWN,
  })
  expect(JSON.stringify([...((error as APIError).headers ?? [])])).not.toContain('policy 7')
})

test('the same in the form of Anthropic and of Gemini', async () => {
  rejecting(exposing, '')
  const anthropic = new Anthropic({
    baseURL: `${exposing.origin}/both`,
    apiKey: 'k',
    maxRetries: 0,
  })
  const error = await raisedBy(
    anthropic.messages.create({
      model: 'm',
      max_tokens: 9,
      messages: [{ role: 'user', content: 'hi' }],
    }),
  )
  expect(error).toBeInstanceOf(Anthropic.PermissionDeniedError)
  expect((error as InstanceType<typeof Anthropic.APIError>).error).toMatchObject({
    type: 'error',
    error: { message: SHOWN, reason: SHOWN },
  })
  const { status, body } = await send(exposing.origin, '/both/v1beta/models/m:generateContent', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }),
  })
  expect(status).toBe(403)
  expect(JSON.parse(body)).toEqual({
    error: { code: 403, message: SHOWN, status: 'PERMISSION_DENIED', reason: SHOWN },
  })
})

test.each(STACKS)('%s the flag: the error that ends a stream', async (name, of) => {
  const error = await askStreaming(of())
  expect(error).toBeInstanceOf(APIError)
  expect((error as APIError).error).toEqual({
    message: 'reply blocked',
    type: 'invalid_request_error',
    param: null,
    code: 'content_filter',
    ...(name === 'with' && { reason: SHOWN }),
  })
})

/** Rejects calls of tools, with this text. */
const rejectingCalls = (stack: GuardedStack, body: string): void =>
  stack.webhook.answer((request, response) => {
    const { tool } = (JSON.parse(request.body) as { body: { tool?: { method?: string } } }).body
    const isCall = tool?.method === 'tools/call' || tool?.method === 'prompts/get'
    const reject = { body, status_code: 403, reason: REASON }
    answerJson({ action: isCall ? reject : {} })(request, response)
  })

async function connected(stack: GuardedStack): Promise<Client> {
  const client = new Client({ name: 'gatehouse-tests', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(`${stack.origin}/mcp`)))
  return client
}

test.each(STACKS)('a rejected call of a tool, %s the flag', async (flag, stackOf) => {
  const stack = stackOf()
  rejectingCalls(stack, 'not that')
  const client = await connected(stack)
  try {
    const result = await client.callTool({ name: 'echo', arguments: { message: 'hi' } })
    expect(result).toEqual({
      content: [{ type: 'text', text: 'not that' }],
      isError: true,
      ...(flag === 'with' && { _meta: { reason: SHOWN } }),
    })
    const error = await raisedBy(
      client.getPrompt({ name: 'args-prompt', arguments: { city: 'x' } }),
    )
    const shown = { status: 403, ...(flag === 'with' && { reason: SHOWN }) }
    expect(error).toMatchObject({ data: shown })
    expect(Object.keys((error as { data: object }).data)).toEqual(Object.keys(shown))
  } finally {
    await client.close()
  }
  // Further verdicts of the kind are counted in a later line.
  const lines = (await verdicts(stack)).filter(({ route }) => route === 'default/mcp')
  expect(lines).toMatchObject([{ tool: 'echo', reason: SHOWN }])
})

test.each(STACKS)('a rejected call without a text, %s the flag', async (flag, stackOf) => {
  const stack = stackOf()
  rejectingCalls(stack, '')
  const client = await connected(stack)
  try {
    const { content } = await client.callTool({ name: 'echo', arguments: { message: 'hi' } })
    expect(content).toMatchObject([
      { text: flag === 'with' ? SHOWN : (expect.not.stringContaining('policy 7') as string) },
    ])
  } finally {
    await client.close()
  }
})
