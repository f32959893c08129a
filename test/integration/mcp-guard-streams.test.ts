// backend.mcp.guard and event streams: what the server says beside its answers, on the stream of a POST and of a GET.

import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CreateMessageRequestSchema,
  LoggingMessageNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type McpServer, startMcpServer } from '../../src/cli/demo/mcp-server.js'
import { both, hook } from '../support/guardrails.js'
import {
  events,
  guardedMcp,
  type McpGuardStack,
  questions,
  startMcpGuardStack,
  toolCall,
} from '../support/mcp-guards.js'
import { proxyBackend } from '../support/resources.js'

let everything: McpServer
let stack: McpGuardStack

beforeAll(async () => {
  everything = await startMcpServer()
  stack = await startMcpGuardStack(() => [
    proxyBackend('everything', everything),
    ...guardedMcp('/mcp', 'everything', both(hook('guard'))),
    ...guardedMcp('/raw', 'raw', both(hook('guard'))),
  ])
})
afterAll(async () => {
  await stack.close()
  await everything.close()
})
beforeEach(() => stack.reset())

const message = (more: object): string => JSON.stringify({ jsonrpc: '2.0', ...more })
const event = (more: object): string => `data: ${message(more)}\n\n`
const text = (said: string): object => ({ content: [{ type: 'text', text: said }] })
const log = (data: unknown): object => ({
  method: 'notifications/message',
  params: { level: 'info', logger: 'tool', data },
})
const sampling = (said: string): object => ({
  id: 'server-1',
  method: 'sampling/createMessage',
  params: {
    messages: [{ role: 'user', content: { type: 'text', text: said } }],
    systemPrompt: 'be kind',
    maxTokens: 10,
  },
})
const call = toolCall(7, 'fetch', {})

/** Returns the messages of the events that a client gets for the call. */
async function streamed(...pieces: readonly string[]): Promise<unknown[]> {
  stack.server.answer(events(...pieces))
  const { body } = await stack.post('/raw', call)
  return messagesIn(body)
}

const messagesIn = (body: string): unknown[] =>
  body
    .split('\n')
    .flatMap((line): unknown[] => (line.startsWith('data: ') ? [JSON.parse(line.slice(6))] : []))

const REJECTED = {
  jsonrpc: '2.0',
  id: 7,
  result: { ...text('request blocked'), isError: true },
}

describe('the stream of a POST', () => {
  test('notifications and requests of the server are masked', async () => {
    expect(
      await streamed(
        event(log('a secret')),
        event(sampling('secret')),
        event({ id: 7, result: {} }),
      ),
    ).toEqual([
      { jsonrpc: '2.0', ...log('a ****') },
      { jsonrpc: '2.0', ...sampling('****') },
      { jsonrpc: '2.0', id: 7, result: {} },
    ])
    expect(questions(stack.webhook)).toEqual([
      '/response notifications/message | tool: a secret',
      '/response sampling/createMessage | user: secret | system: be kind',
    ])
  })

  test('a rejected notification is dropped', async () => {
    const answer = { id: 7, result: text('done') }
    expect(await streamed(event(log({ deep: ['block'] })), event(answer))).toEqual([
      { jsonrpc: '2.0', ...answer },
    ])
  })

  test('a rejected request of the server rejects the call that waits for it', async () => {
    const answer = { id: 7, result: text('never') }
    expect(await streamed(event(sampling('block')), event(answer))).toEqual([REJECTED])
  })

  test('an event that cannot be read ends it with an error for the call', async () => {
    for (const bad of [
      'data: {"a":1,"a":2}\n\n',
      'data: {\n\n',
      'data: words of a tool\n\n',
      'data: /words-of-a-tool\n\n',
      'hidden {}\n\n',
    ])
      expect(await streamed(event(log('x')), bad, event({ id: 7, result: {} }))).toMatchObject([
        { jsonrpc: '2.0', ...log('x') },
        { id: 7, error: { code: -32_603 } },
      ])
  })

  test('text that only some clients would read as an event does not pass', async () => {
    const hidden = message({ id: 7, result: text('block') })
    const line = event({ id: 7, result: text('a\u2028b') })
    stack.server.answer(events(`: hi\u2028data: ${hidden}\n\n`, line))
    expect((await stack.post('/raw', call)).body).toBe(`:\n\n${line.replace('\u2028', '\\u2028')}`)
  })

  test('the address of an older transport passes', async () => {
    const endpoint = 'event: endpoint\ndata: /messages?sessionId=1-2\n\n'
    stack.server.answer(events(endpoint))
    expect((await stack.post('/raw', call)).body).toBe(endpoint)
  })
})

test('the stream of a GET is guarded as it arrives, and continues after a reject', async () => {
  let say = (_text: string): void => {}
  stack.server.answer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
    say = (said) => void response.write(said)
  })
  const aborter = new AbortController()
  const { body } = await fetch(`${stack.origin}/raw`, {
    headers: { accept: 'text/event-stream' },
    signal: aborter.signal,
  })
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader()
  let read = ''
  const until = async (part: string): Promise<void> => {
    while (!read.includes(part)) read += (await reader?.read())?.value ?? ''
  }
  say(event(log('first secret')))
  await until('first')
  say(event(log('block')) + event(sampling('block')) + event({ id: 3, result: text('secret') }))
  await until('"id":3')
  expect(messagesIn(read)).toEqual([
    { jsonrpc: '2.0', ...log('first ****') },
    { jsonrpc: '2.0', id: 3, result: text('****') },
  ])
  aborter.abort()
})

describe('events of another content type', () => {
  const hidden = event(log('a secret')).replace('secret', '\\u0073ecret')

  test('on a GET, which the official client reads whatever the type is, are masked', async () => {
    const initialized = {
      protocolVersion: '2025-11-25',
      capabilities: { logging: {} },
      serverInfo: { name: 's', version: '1' },
    }
    stack.server.answer(({ method, body }, response) => {
      const { id } = JSON.parse(body || '{}') as { id?: number }
      if (method === 'GET') response.writeHead(200, { 'content-type': 'text/plain' }).end(hidden)
      else if (id === undefined) response.writeHead(202).end()
      else {
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end(message({ id, result: initialized }))
      }
    })
    const client = new Client({ name: 'gatehouse-tests', version: '1' })
    const outcome = new Promise((resolve) => {
      client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) =>
        resolve(params.data),
      )
      client.onerror = ({ message: said }) => resolve(said)
    })
    await client.connect(new StreamableHTTPClientTransport(new URL(`${stack.origin}/raw`)))
    try {
      expect(await outcome).toBe('a ****')
    } finally {
      await client.close()
    }
  })

  test.each([
    ['text/plain', ''],
    ['application/json', ''],
    ['text/html', '\ufeff'],
    ['application/json', ': hi\r'],
    ['text/event-stream;x', '\r\n\n'],
  ])('of %s after %j are masked', async (type, before) => {
    stack.server.answer((_request, response) => {
      response.writeHead(200, { 'content-type': type }).end(before + hidden)
    })
    const { status, body } = await stack.post('/raw', call)
    expect([status, body]).toEqual([200, before.replace(/ hi|\ufeff/, '') + event(log('a ****'))])
  })

  const answer = message({ id: 7, result: text('a secret') })
  const masked = message({ id: 7, result: text('a ****') })

  test.each([1, 7, answer.length])(
    'JSON that is declared as events is masked, in chunks of %i bytes',
    async (size) => {
      stack.server.answer((_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        for (let at = 0; at < answer.length; at += size) response.write(answer.slice(at, at + size))
        response.end()
      })
      const { status, body } = await stack.post('/raw', call)
      expect([status, body]).toEqual([200, masked])
    },
  )

  test('so is that with a length', async () => {
    stack.server.answer((_request, response) => {
      const length = { 'content-length': String(answer.length) }
      response.writeHead(200, { 'content-type': 'text/event-stream', ...length }).end(answer)
    })
    const { status, body } = await stack.post('/raw', call)
    expect([status, body]).toEqual([200, masked])
  })

  test.each([
    ['a byte order mark as Latin-1', '\u00ef\u00bb\u00bf'],
    ['both of them', '\ufeff\u00ef\u00bb\u00bf'],
    ['a line end of some clients', 'a page\u2028'],
    ['much text', `${'x'.repeat(64 * 1024 - 2)}\n`],
  ])('after %s do not pass', async (_name, before) => {
    stack.server.answer((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(before + hidden)
    })
    const { status, body } = await stack.post('/raw', call)
    expect([status, body]).toEqual([503, expect.not.stringContaining('ecret')])
  })

  test('a page with the word in a line passes', async () => {
    const page = 'all data: secret'
    stack.server.answer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' }).end(page)
    })
    expect((await stack.post('/raw', call)).body).toBe('all data: ****')
  })
})

describe('what the client sends beside calls', () => {
  const post = async (body: object): Promise<{ status: number; sent: string | undefined }> => {
    stack.server.answer((_request, response) => void response.writeHead(202).end())
    const { status } = await stack.post('/raw', body)
    return { status, sent: stack.server.requests[0]?.body }
  }
  const answered = (said: string): object => ({
    jsonrpc: '2.0',
    id: 'server-1',
    result: { role: 'assistant', model: 'm', content: { type: 'text', text: said } },
  })
  const entered = (said: string): object => ({
    jsonrpc: '2.0',
    id: 'server-1',
    result: { action: 'accept', content: { name: said, type: said } },
  })

  test('the answers to sampling and elicitation are masked', async () => {
    expect(await post(answered('a secret'))).toEqual({
      status: 202,
      sent: JSON.stringify(answered('a ****')),
    })
    stack.reset()
    expect(await post(entered('secret'))).toEqual({
      status: 202,
      sent: JSON.stringify(entered('****')),
    })
    expect(questions(stack.webhook)).toEqual(['/request | user: secret | user: secret'])
  })

  test('a rejected answer has the status of the webhook, and does not reach the server', async () => {
    expect(await post(answered('block'))).toEqual({ status: 403, sent: undefined })
  })

  test('a batch is rejected with an answer for each request', async () => {
    const batch = [toolCall(1, 'a', { x: 'block' }), toolCall('b', 'b', {}), log('x')]
    const { status, body } = await stack.post(
      '/raw',
      batch.map((one) => ({ jsonrpc: '2.0', ...one })),
    )
    const rejected = { result: { ...text('request blocked'), isError: true } }
    expect([status, JSON.parse(body)]).toEqual([
      200,
      [
        { jsonrpc: '2.0', id: 1, ...rejected },
        { jsonrpc: '2.0', id: 'b', ...rejected },
      ],
    ])
  })

  test('answers to a batch are masked and rejected each by its id', async () => {
    const answers = [
      { jsonrpc: '2.0', id: 2, result: text('block') },
      { jsonrpc: '2.0', id: 1, result: text('secret') },
    ]
    stack.server.answer((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answers))
    })
    const { body } = await stack.post('/raw', [toolCall(1, 'a', {}), toolCall(2, 'b', {})])
    expect(JSON.parse(body)).toEqual([
      { jsonrpc: '2.0', id: 2, result: { ...text('request blocked'), isError: true } },
      { jsonrpc: '2.0', id: 1, result: text('****') },
    ])
    expect(questions(stack.webhook)).toEqual([
      '/response tools/call b | tool: block',
      '/response tools/call a | tool: secret',
    ])
  })
})

test('a tool that samples: the official client sees the masked prompt, the tool the masked answer', async () => {
  const client = new Client(
    { name: 'gatehouse-tests', version: '1' },
    { capabilities: { sampling: {} } },
  )
  let asked = ''
  client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => {
    asked = JSON.stringify(params.messages)
    return { role: 'assistant', model: 'm', content: { type: 'text', text: 'my secret answer' } }
  })
  await client.connect(new StreamableHTTPClientTransport(new URL(`${stack.origin}/mcp`)))
  try {
    const { content } = await client.callTool({
      name: 'trigger-sampling-request',
      arguments: { prompt: 'a secret prompt', maxTokens: 10 },
    })
    expect(asked).toContain('a **** prompt')
    expect(JSON.stringify(content)).toContain('my **** answer')
  } finally {
    await client.close()
  }
})
