// backend.mcp.guard through a real Envoy: webhooks see what MCP clients and servers say, mask it and reject it, as the
// official clients notice.

import {
  Client as Client2,
  StreamableHTTPClientTransport as Transport2,
} from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type McpServer, startMcpServer } from '../../src/cli/demo/mcp-server.js'
import { answerJson, both, hook, service } from '../support/guardrails.js'
import {
  events,
  guardedMcp,
  json,
  type McpGuardStack,
  questions,
  startMcpGuardStack,
  toolCall,
} from '../support/mcp-guards.js'
import { proxyBackend } from '../support/resources.js'
import { type SampleWebhook, startNodeWebhook } from '../support/sample-webhook.js'

let everything: McpServer
let copied: SampleWebhook
let stack: McpGuardStack

beforeAll(async () => {
  ;[everything, copied] = await Promise.all([startMcpServer(), startNodeWebhook()])
  stack = await startMcpGuardStack((webhook) => [
    proxyBackend('everything', everything),
    ...guardedMcp('/both', 'everything', both(hook('guard'))),
    ...service('copied', copied.port),
    ...guardedMcp('/copied', 'everything', { response: [hook('copied')] }),
    ...guardedMcp('/results', 'everything', { response: [hook('guard')] }),
    ...guardedMcp('/raw', 'raw', both(hook('guard'))),
    ...service('hurried', webhook.port, '1s'),
    ...guardedMcp('/hurried', 'raw', both(hook('hurried'))),
    ...guardedMcp('/open', 'raw', both(hook('guard', { failureMode: 'FailOpen' }))),
  ])
})
afterAll(async () => {
  await stack.close()
  await Promise.all([everything.close(), copied.close()])
})
beforeEach(() => stack.reset())

type AnyClient = Pick<Client, 'close'> & {
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<object>
}

async function connected(version: 1 | 2, path: string): Promise<AnyClient> {
  const url = new URL(stack.origin + path)
  const info = { name: 'gatehouse-tests', version: '1' }
  const client = version === 1 ? new Client(info) : new Client2(info)
  await (client instanceof Client
    ? client.connect(new StreamableHTTPClientTransport(url))
    : client.connect(new Transport2(url)))
  return client
}

/** Returns the answer that a client shows. */
async function called(version: 1 | 2, path: string, message: string): Promise<unknown> {
  const client = await connected(version, path)
  try {
    return await client.callTool({ name: 'echo', arguments: { message } })
  } finally {
    await client.close()
  }
}

const text = (said: string): object => ({ content: [{ type: 'text', text: said }] })

describe.each([1, 2] as const)('the TypeScript client, version %s', (version) => {
  test('is given a masked result', async () => {
    expect(await called(version, '/results', 'my secret')).toEqual(text('Echo: my ****'))
    expect(questions(stack.webhook)).toContain('/response tools/call echo | tool: Echo: my secret')
  })

  test('has its arguments masked on their way to the tool', async () => {
    expect(await called(version, '/both', 'my secret')).toEqual(text('Echo: my ****'))
    expect(questions(stack.webhook)).toContain(
      '/request tools/call echo | tool_argument: my secret',
    )
    expect(questions(stack.webhook)).toContain('/response tools/call echo | tool: Echo: my ****')
  })

  test.each(['/results', '/both'])('shows a reject as an error of the tool: %s', async (path) => {
    expect(await called(version, path, 'block this')).toEqual({
      ...text('request blocked'),
      isError: true,
    })
  })
})

test('the webhook that users copy guards MCP as it is', async () => {
  expect(await called(1, '/copied', 'mail bob@example.com\nnow')).toEqual(
    text('Echo: mail [email]\nnow'),
  )
  expect(await called(1, '/copied', 'a swordfish')).toMatchObject({ isError: true })
})

const result = (id: unknown, said: object): string =>
  JSON.stringify({ jsonrpc: '2.0', id, result: said })

const call = toolCall(7, 'fetch', { url: 'https://page.example/', depth: 1, note: 'a secret' })

describe('a result', () => {
  const WHOLE = `{ "jsonrpc": "2.0",  "id":7, "result": { "content": [
    { "type": "text", "text": "one \\u0073ecret" , "annotations": {"audience": ["user"], "priority": 1.0}},
    { "type": "resource", "resource": { "uri": "file:///a", "mimeType": "text/plain", "text": "secret two" } },
    { "type": "image", "mimeType": "image/png", "data": "c2VjcmV0" } ],
    "structuredContent": { "page": { "title": "secret", "n": 12345678901234567890, "data": "secret" } } } }`
  const MASKED = WHOLE.replace('one \\u0073ecret', 'one ****')
    .replace('secret two', '**** two')
    .replace('"title": "secret"', '"title": "****"')
    .replace('"data": "secret"', '"data": "****"')

  test('as JSON is masked in place; everything else stays, byte for byte', async () => {
    stack.server.answer(json(WHOLE))
    const { status, body, headers } = await stack.post('/raw', call)
    expect([status, body]).toEqual([200, MASKED])
    expect(headers['content-length']).toBe(String(Buffer.byteLength(MASKED)))
    expect(questions(stack.webhook)).toEqual([
      '/request tools/call fetch | tool_argument: https://page.example/ | tool_argument: a secret',
      '/response tools/call fetch | tool: one secret | tool: secret two | tool: secret | tool: secret',
    ])
    expect(stack.server.requests[0]?.body).toBe(JSON.stringify(call).replace('secret', '****'))
  })

  test('as an event is masked in place', async () => {
    const data = WHOLE.replaceAll('\n', '')
    const before = 'event: message\nid: 1\ndata: {"jsonrpc":"2.0","method":"notifications/x"}\n\n'
    stack.server.answer(events(`: ping\n\n${before}`, `id: 2\r\ndata: ${data}\r\n\r\n`))
    expect((await stack.post('/raw', call)).body).toBe(
      `: ping\n\n${before}id: 2\r\ndata: ${MASKED.replaceAll('\n', '')}\r\n\r\n`,
    )
  })

  test('of one event in many pieces is masked', async () => {
    const whole = `data: ${result(7, text('the secret'))}\n\n`
    stack.server.answer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const character of whole) response.write(character)
      response.end()
    })
    expect((await stack.post('/raw', call)).body).toBe(whole.replace('secret', '****'))
  })

  test.each(['JSON', 'events'])(
    'as %s that is rejected becomes an error of the tool',
    async (as) => {
      const answer = result(7, text('block'))
      stack.server.answer(as === 'JSON' ? json(answer) : events(`data: ${answer}\n\n`))
      const { status, body } = await stack.post('/raw', call)
      expect(status).toBe(200)
      expect(JSON.parse(body.replace('data: ', ''))).toEqual({
        jsonrpc: '2.0',
        id: 7,
        result: { ...text('request blocked'), isError: true },
      })
    },
  )

  test('has the resultType that revision 2026-07-28 requires where the request is of it', async () => {
    stack.server.answer(json(result(7, { resultType: 'complete', ...text('block') })))
    const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' }
    const { body } = await stack.post('/raw', toolCall(7, 'fetch', {}, { _meta }), {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'fetch',
    })
    expect(JSON.parse(body)).toMatchObject({ result: { resultType: 'complete', isError: true } })
  })
})

describe('an error', () => {
  test('is masked, with its data', async () => {
    const error =
      '{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"a secret","data":["secret"]}}'
    stack.server.answer(json(error))
    expect((await stack.post('/raw', call)).body).toBe(error.replaceAll('secret', '****'))
  })

  test('that is rejected is an error of the tool', async () => {
    stack.server.answer(json('{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"block"}}'))
    expect(JSON.parse((await stack.post('/raw', call)).body)).toMatchObject({
      result: { isError: true },
    })
  })

  test('of another method that is rejected is a JSON-RPC error with the status of the webhook', async () => {
    stack.server.answer(json(result(7, { contents: [{ uri: 'a:b', text: 'block' }] })))
    const read = { jsonrpc: '2.0', id: 7, method: 'resources/read', params: { uri: 'a:b' } }
    expect(JSON.parse((await stack.post('/raw', read)).body)).toEqual({
      jsonrpc: '2.0',
      id: 7,
      error: { code: -32_010, message: 'request blocked', data: { status: 403 } },
    })
    expect(questions(stack.webhook)).toEqual(['/response resources/read a:b | tool: block'])
  })

  test('of HTTP is shown whole, and keeps its status', async () => {
    stack.server.answer((_request, response) => {
      response.writeHead(404, { 'content-type': 'text/plain' }).end('no secret here')
    })
    const { status, body } = await stack.post('/raw', call)
    expect([status, body]).toEqual([404, 'no **** here'])
    stack.server.answer((_request, response) => {
      response.writeHead(404, { 'content-type': 'text/plain' }).end('block')
    })
    const rejected = await stack.post('/raw', call)
    expect([rejected.status, rejected.body.includes('request blocked')]).toEqual([404, true])
  })

  test('of HTTP is shown as a reader of JSON reads it, or does not pass', async () => {
    const hidden = String.raw`{"error":{"message":"s\u0065cret"}}`
    const fail = async (body: string): Promise<unknown> => {
      stack.server.answer((_request, response) => void response.writeHead(404).end(body))
      return (await stack.post('/raw', call)).body
    }
    expect(await fail(`[null,${hidden}]`)).toBe('[null,{"error":{"message":"****"}}]')
    expect(await fail(String.raw`"s\u0065cret"`)).toBe('"****"')
    expect(await fail(`[NaN,${hidden}]`)).not.toContain('cret')
  })
})

describe('an id that does not look like one', () => {
  const ping = { jsonrpc: '2.0', id: 'a secret', method: 'ping' }
  const pong = result('a secret', {})

  test('passes as it is when the webhook allows it', async () => {
    stack.webhook.answer(answerJson({ action: {} }))
    stack.server.answer(json(pong))
    expect(await stack.post('/raw', ping)).toMatchObject({ status: 200, body: pong })
    expect(stack.server.requests[0]?.body).toBe(JSON.stringify(ping))
    expect(questions(stack.webhook)).toEqual([
      '/request ping | user: a secret',
      '/response ping | tool: a secret',
    ])
  })

  test('is never changed: that is no verdict, which a client can choose and FailOpen does not let pass', async () => {
    stack.server.answer(json(pong))
    for (const path of ['/raw', '/open'])
      expect(await stack.post(path, ping)).toMatchObject({ status: 503 })
    expect(stack.server.requests).toHaveLength(0)
  })

  test('is not shown where it is one of the Java SDK', async () => {
    const id = '48213377-12'
    stack.server.answer(json(result(id, text('a secret'))))
    const { body } = await stack.post('/raw', { ...call, id })
    expect(JSON.parse(body)).toEqual({ jsonrpc: '2.0', id, result: text('a ****') })
    expect(questions(stack.webhook).join()).not.toContain(id)
  })
})

describe('headers that repeat arguments', () => {
  const noted = toolCall(7, 'fetch', { note: 'a secret', other: 'sécret secret', n: 1 })

  test('are masked with them', async () => {
    stack.server.answer(json(result(7, {})))
    const encoded = `=?base64?${Buffer.from('sécret secret').toString('base64')}?=`
    const { status } = await stack.post('/raw', noted, {
      'mcp-param-note': 'a secret',
      'mcp-param-other': encoded,
      'mcp-param-n': '1',
    })
    const { headers = {} } = stack.server.requests[0] ?? {}
    expect(status).toBe(200)
    expect(headers).toMatchObject({
      'mcp-param-note': 'a ****',
      'mcp-param-other': `=?base64?${Buffer.from('sécret ****').toString('base64')}?=`,
      'mcp-param-n': '1',
    })
  })

  test('and differ from them are 400', async () => {
    const { status, body } = await stack.post('/raw', noted, { 'mcp-param-note': 'hidden words' })
    expect([status, JSON.parse(body)]).toMatchObject([400, { id: 7, error: { code: -32_020 } }])
    expect(stack.server.requests).toHaveLength(0)
  })
})

describe('a webhook without an answer', () => {
  test('that fails closed: 503, before the server and after it', async () => {
    stack.webhook.answer(answerJson({}, 500))
    const request = await stack.post('/raw', call)
    expect([request.status, JSON.parse(request.body)]).toMatchObject([
      503,
      { id: 7, error: { code: -32_603, message: 'The guardrail is unavailable.' } },
    ])
    expect(stack.server.requests).toHaveLength(0)
    stack.server.answer(json(result(7, text('hello'))))
    stack.webhook.answer(({ url }, response) => {
      answerJson({ action: {} }, url === '/request' ? 200 : 500)(undefined, response)
    })
    const reply = await stack.post('/raw', call)
    expect([reply.status, reply.body.includes('hello')]).toEqual([503, false])
  })

  test('that fails closed: an error in place of the event', async () => {
    stack.server.answer(events(`data: ${result(7, text('hello'))}\n\n`))
    stack.webhook.answer(({ url }, response) => {
      answerJson({ action: {} }, url === '/request' ? 200 : 500)(undefined, response)
    })
    const { body } = await stack.post('/raw', call)
    expect(JSON.parse(body.replace('data: ', ''))).toMatchObject({
      id: 7,
      error: { message: 'The guardrail is unavailable.' },
    })
  })

  test('that never answers counts as one at its requestTimeout', async () => {
    stack.webhook.answer(() => {})
    expect((await stack.post('/hurried', call)).status).toBe(503)
    for (const answer of [
      json(result(7, text('hello'))),
      events(`data: ${result(7, text('hello'))}\n\n`),
    ]) {
      stack.server.answer(answer)
      stack.webhook.answer(({ url }, response) => {
        if (url === '/request') answerJson({ action: {} })(undefined, response)
      })
      const { body } = await stack.post('/hurried', toolCall(7, 'fetch', { a: 'b' }))
      expect(JSON.parse(body.replace('data: ', ''))).toMatchObject({
        id: 7,
        error: { message: 'The guardrail is unavailable.' },
      })
    }
  })

  test('that fails open: everything passes', async () => {
    const answer = result(7, text('a secret'))
    stack.server.answer(json(answer))
    stack.webhook.answer(answerJson({}, 500))
    expect((await stack.post('/open', call)).body).toBe(answer)
  })
})
