// inspectTools and inspectFiles of guardrail webhooks through a real Envoy, for prompts and for MCP.

import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type McpServer, startMcpServer } from '../../src/cli/demo/mcp-server.js'
import { type Backend, startBackend } from '../support/backend.js'
import {
  answerJson,
  guardedRoute,
  type GuardedStack,
  hook,
  startGuardedStack,
} from '../support/guardrails.js'
import { send } from '../support/http.js'
import { guardedMcp, json, type McpWire, questions } from '../support/mcp-guards.js'
import { proxyBackend } from '../support/resources.js'

const ALL = { inspectTools: true, inspectFiles: true }

let everything: McpServer
let server: Backend
let stack: GuardedStack

beforeAll(async () => {
  ;[everything, server] = await Promise.all([startMcpServer(), startBackend('server')])
  stack = await startGuardedStack([
    proxyBackend('everything', everything),
    proxyBackend('raw', server),
    ...guardedRoute('/prompts', { request: [hook('guard', ALL)] }),
    ...guardedRoute('/plain', { request: [hook('guard')] }),
    ...guardedRoute('/streams', { response: [hook('guard', ALL)] }),
    ...guardedRoute('/streams-plain', { response: [hook('guard')] }),
    ...guardedMcp('/mcp', 'everything', { response: [hook('guard', ALL)] }),
    ...guardedMcp('/mcp-plain', 'everything', { response: [hook('guard')] }),
    ...guardedMcp('/raw', 'raw', { response: [hook('guard', ALL)] }),
  ])
})
afterAll(async () => {
  await stack.close()
  await Promise.all([everything.close(), server.close()])
})
beforeEach(() => stack.reset())

const base64 = (text: string): string => Buffer.from(text).toString('base64')
const file = (text: string): string => `data:text/plain;base64,${base64(text)}`

/** Sends a prompt with a tool and a file by the official client. Returns what the LLM got. */
async function prompted(path: string, note: string, about: string): Promise<string> {
  const client = new OpenAI({ baseURL: `${stack.origin}${path}/v1`, apiKey: 'k', maxRetries: 0 })
  await client.chat.completions.create({
    model: 'm',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'read it' },
          { type: 'file', file: { filename: 'a.txt', file_data: file(note) } },
        ],
      },
    ],
    tools: [{ type: 'function', function: { name: 'fetch', description: about } }],
  })
  return stack.llm.requests[0]?.body ?? ''
}

test('a tool and a text file of a prompt are masked on their way to the model', async () => {
  const sent = await prompted('/prompts', 'a secret note', 'uses the secret')
  expect(sent).toContain(file('a **** note'))
  expect(sent).toContain('"uses the ****"')
  expect(questions(stack.webhook)).toEqual([
    '/request | user: read it | user: a.txt | user: a secret note | tool_definition: uses the secret',
  ])
})

test('a tool and a text file of a prompt can be rejected', async () => {
  await expect(prompted('/prompts', 'block', 'x')).rejects.toMatchObject({ status: 403 })
  await expect(prompted('/prompts', 'x', 'block')).rejects.toMatchObject({ status: 403 })
  expect(stack.llm.requests).toHaveLength(0)
})

test('without the fields both pass as they are', async () => {
  const sent = await prompted('/plain', 'a secret note', 'uses the secret')
  expect([sent.includes(file('a secret note')), sent.includes('uses the secret')]).toEqual([
    true,
    true,
  ])
  expect(questions(stack.webhook)).toEqual(['/request | user: read it | user: a.txt'])
})

/** The events of a streamed reply of OpenAI's Responses API with a tool, a file, and text between them. */
const streamed = (about: string, note: string, text = 'Listed.'): string =>
  [
    {
      type: 'response.output_item.done',
      output_index: 0,
      item: { type: 'mcp_list_tools', tools: [{ name: 'fetch', description: about }] },
    },
    { type: 'response.output_text.delta', output_index: 1, content_index: 0, delta: text },
    {
      type: 'response.output_item.done',
      output_index: 2,
      item: { type: 'code_interpreter_call', outputs: [{ type: 'image', image_url: file(note) }] },
    },
  ]
    .map((event) => `data: ${JSON.stringify(event)}\n\n`)
    .join('')

async function streamedBy(path: string, events: string): Promise<string> {
  stack.llm.answer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(events)
  })
  return (await stack.post(`${path}/v1/responses`, JSON.stringify({ model: 'm', input: 'hi' })))
    .body
}

test('a tool and a text file of a streamed reply are masked', async () => {
  expect(await streamedBy('/streams', streamed('uses the secret', 'a secret note'))).toBe(
    streamed('uses the ****', 'a **** note'),
  )
  expect(questions(stack.webhook).toSorted()).toEqual([
    '/response | assistant: Listed.',
    '/response | assistant: a secret note',
    '/response | tool_definition: uses the secret',
  ])
})

test.each([
  ['a tool', streamed('block', 'x')],
  ['a text file', streamed('x', 'block')],
])('%s of a streamed reply can be rejected', async (_, events) => {
  const body = await streamedBy('/streams', events)
  expect(body).toContain('content_filter')
  // The webhook's own answer may say why.
  expect(body).not.toContain('"description":"block"')
  expect(body).not.toContain(base64('block'))
})

test('without the fields both pass in streamed replies as they are', async () => {
  const events = streamed('uses the secret', 'a secret note', 'Listed plainly.')
  expect(await streamedBy('/streams-plain', events)).toBe(events)
  // A stream that was rejected before may still ask about its own text.
  const own = questions(stack.webhook).filter((question) => /plainly|secret|fetch/.test(question))
  expect(own).toEqual(['/response | assistant: Listed plainly.'])
})

async function listed(path: string): Promise<readonly (string | undefined)[]> {
  const client = new Client({ name: 'gatehouse-tests', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(`${stack.origin}${path}`)))
  try {
    return (await client.listTools()).tools.map(({ description }) => description)
  } finally {
    await client.close()
  }
}

test('the tools of an MCP server are masked for the official client', async () => {
  const before = await listed('/mcp-plain')
  expect(before).toContain('Echoes back the input string')
  stack.webhook.answer(({ body }, response) => {
    const asked = (JSON.parse(body) as { body: McpWire }).body
    const choices = (asked.choices ?? []).map(({ message: { role, content } }) => ({
      message: { role, content: content.replace('Echoes back', 'Returns') },
    }))
    answerJson({ action: { body: { choices } } })(undefined, response)
  })
  expect(await listed('/mcp')).toEqual(
    before.map((description) => description?.replace('Echoes back', 'Returns')),
  )
})

test('a text file in a resource is masked, another one is not touched', async () => {
  const contents = (text: string): string =>
    JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      result: {
        contents: [
          { uri: 'file:///a', mimeType: 'text/plain', blob: base64(text) },
          { uri: 'file:///b', mimeType: 'image/png', blob: 'iVBORw0KGgoAAAANSUhEUg==' },
        ],
      },
    })
  server.answer(json(contents('a secret note')))
  const { body } = await send(stack.origin, '/raw', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'resources/read',
      params: { uri: 'file:///a' },
    }),
  })
  expect(body).toBe(contents('a **** note'))
  expect(questions(stack.webhook)).toEqual([
    '/response resources/read file:///a | tool: a secret note',
  ])
})
