// mcp.filterLists: lists omit what the rules deny the caller, as JSON and as events.

import {
  Client as Client2,
  StreamableHTTPClientTransport as Transport2,
} from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type McpServer, startMcpServer } from '../../src/cli/demo/mcp-server.js'
import { eventually } from '../../testing/eventually.js'
import { type Backend, startBackend } from '../support/backend.js'
import { pythonCall } from '../support/clients/python-call.js'
import { type DocumentServer, startDocumentServer } from '../support/document-server.js'
import { hook, sample, service } from '../support/guardrails.js'
import { type Answer, initialize, send } from '../support/http.js'
import { mcpGuardPolicy, questions } from '../support/mcp-guards.js'
import {
  gateway,
  inAudit,
  mcpRoute,
  proxyBackend,
  proxyPolicy,
  remoteJwks,
} from '../support/resources.js'
import { type Stack, startStack } from '../support/stack.js'
import { keySet, newKey, type SigningKey, signToken } from '../support/tokens.js'

const VERSION = '2026-07-28'
const ISSUER = 'https://idp.example/o/mcp/'

let everything: McpServer
let backend: Backend
let webhook: Backend
let idp: DocumentServer
let key: SigningKey
let stack: Stack

beforeAll(async () => {
  ;[everything, backend, webhook, idp, key] = await Promise.all([
    startMcpServer(),
    startBackend(),
    startBackend('webhook'),
    startDocumentServer(),
    newKey('k1'),
  ])
  idp.serve('/jwks', keySet(key))
  const jwks = remoteJwks('idp', idp.port, '/jwks')
  const policy = (name: string): object =>
    proxyPolicy(name, name, {
      jwtAuthentication: {
        providers: [{ issuer: ISSUER, audiences: ['api'], jwks }],
        mcp: { clientId: 'client', filterLists: true },
      },
      authorization: {
        action: 'Deny',
        policy: {
          matchExpressions: [
            'mcp.tool.name == "get-sum" && jwt.sub != "admin"',
            'mcp.tool.name == "echo" && mcp.tool.arguments.message == "no"',
            'mcp.resource.uri.startsWith("secret:")',
            'mcp.prompt.name == "hidden"',
            'mcp.tool.name == "newer" && mcp.protocolVersion != "2026-07-28"',
          ],
          requiredScopes: [{ scopes: ['b'], when: 'mcp.tool.name == "b"' }],
        },
      },
    })
  stack = await startStack({
    resources: (port) => [
      gateway([port]),
      proxyBackend('everything', everything),
      proxyBackend('backend', backend),
      proxyBackend('idp', idp),
      mcpRoute('mcp', 'everything', '/mcp'),
      mcpRoute('raw', 'backend', '/raw'),
      policy('mcp'),
      policy('raw'),
      mcpRoute('guarded', 'backend', '/guarded'),
      policy('guarded'),
      ...service('guard', webhook.port),
      mcpGuardPolicy('guarded', { response: [hook('guard', { inspectTools: true })] }),
      mcpRoute('audited', 'backend', '/audited'),
      policy('audited'),
      inAudit(mcpGuardPolicy('audited', { response: [hook('guard', { inspectTools: true })] })),
    ],
  })
  await eventually(async () => {
    for (const path of ['/mcp', '/raw', '/guarded', '/audited'])
      expect((await send(stack.origin, path, initialize)).status).toBe(401)
  })
})

afterAll(async () => {
  await stack.close()
  await Promise.all([everything.close(), backend.close(), webhook.close(), idp.close()])
})

const tokenOf = (sub: string): Promise<string> =>
  signToken({ key, claims: { iss: ISSUER, aud: 'api', sub } })

describe.each([1, 2] as const)('the TypeScript client, version %s', (version) => {
  test.each([
    ['alice', false],
    ['admin', true],
  ])('%s is shown what the rules let in', async (sub, isShown) => {
    const url = new URL(`${stack.origin}/mcp`)
    const requestInit = { headers: { authorization: `Bearer ${await tokenOf(sub)}` } }
    const info = { name: 'gatehouse-tests', version: '1' }
    const client = version === 1 ? new Client(info) : new Client2(info)
    await (client instanceof Client
      ? client.connect(new StreamableHTTPClientTransport(url, { requestInit }))
      : client.connect(new Transport2(url, { requestInit })))
    try {
      const names = (await client.listTools()).tools.map(({ name }) => name)
      expect([names.includes('echo'), names.includes('get-sum')]).toEqual([true, isShown])
      expect((await client.listPrompts()).prompts.length).toBeGreaterThan(0)
      expect(
        JSON.stringify(await client.callTool({ name: 'echo', arguments: { message: 'hi' } })),
      ).toContain('hi')
    } finally {
      await client.close()
    }
  })
})

test.each([
  ['alice', false],
  ['admin', true],
])('the Python client: %s is shown what the rules let in', async (sub, isShown) => {
  const { tools, text } = await pythonCall(`${stack.origin}/mcp`, 'echo', await tokenOf(sub))
  expect([tools?.includes('echo'), tools?.includes('get-sum')]).toEqual([true, isShown])
  expect(text).toBe('Echo: hi')
})

/** What a client receives of an answer of the backend. */
async function answered(
  method: string,
  answer: string,
  { type = 'application/json', status = 200, headers = {}, path = '/raw' } = {},
): Promise<Answer> {
  backend.answer((_request, response) => {
    response.writeHead(status, { 'content-type': type, ...headers }).end(answer)
  })
  const isGet = method === 'GET'
  return send(stack.origin, path, {
    method: isGet ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${await tokenOf('alice')}`,
      ...(isGet ? {} : { 'content-type': 'application/json' }),
    },
    ...(isGet ? {} : { body: JSON.stringify({ jsonrpc: '2.0', id: 7, method }) }),
  })
}

const tools = (id: unknown, ...names: string[]): string =>
  `{ "jsonrpc": "2.0",  "id": ${JSON.stringify(id)}, "result": { "tools": [ ${names
    .map((name) => `{"name": "${name}", "x": 1.0}`)
    .join(' , ')} ], "nextCursor": "c" } }`

test.each([
  [VERSION, ['get', 'newer']],
  [undefined, ['get']],
])('a client of version %s is shown the tools of its version', async (version, names) => {
  backend.answer((_request, response) => {
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(tools(7, 'get', 'get-sum', 'newer'))
  })
  const _meta = { 'io.modelcontextprotocol/protocolVersion': version }
  const { status, body } = await send(stack.origin, '/raw', {
    method: 'POST',
    headers: {
      authorization: `Bearer ${await tokenOf('alice')}`,
      'content-type': 'application/json',
      ...(version && { 'mcp-protocol-version': version, 'mcp-method': 'tools/list' }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/list', params: { _meta } }),
  })
  const shown = JSON.parse(body) as { result: { tools: { name: string }[] } }
  expect([status, shown.result.tools.map(({ name }) => name)]).toEqual([200, names])
})

describe('the rest is as it was, byte for byte', () => {
  test.each<[string[], string[]]>([
    [['get-sum'], []],
    [['get-sum', 'a'], ['a']],
    [['a', 'get-sum'], ['a']],
    [
      ['a', 'get-sum', 'b'],
      ['a', 'b'],
    ],
    [
      ['get-sum', 'a', 'get-sum', 'get-sum', 'b', 'get-sum', 'get-sum'],
      ['a', 'b'],
    ],
    [
      ['a', 'b'],
      ['a', 'b'],
    ],
  ])('of %j stay %j', async (names, shown) => {
    const { body, headers } = await answered('tools/list', tools(7, ...names))
    expect(body).toBe(tools(7, ...shown))
    expect(headers['content-length']).toBe(String(body.length))
  })

  test('the cursor of the next page, also of a page from which all was removed', async () => {
    const page = (list: string): string =>
      `{"jsonrpc":"2.0","id":7,"result":{"nextCursor":"p2","tools":[${list}],"_meta":{"a":1}}}`
    for (const kept of ['', '{"name":"a"}']) {
      const { body } = await answered('tools/list', page(`{"name":"get-sum"}${kept && `,${kept}`}`))
      expect(body).toBe(page(kept))
    }
  })

  test('another method and another status', async () => {
    expect((await answered('ping', tools(7, 'get-sum'))).body).toBe(tools(7, 'get-sum'))
    const failed = await answered('tools/list', 'no list', { status: 404, type: 'text/plain' })
    expect([failed.status, failed.body]).toEqual([404, 'no list'])
  })

  test('an id that the server has changed', async () => {
    for (const id of ['7', 8, null]) {
      const { body } = await answered('tools/list', tools(id, 'get-sum', 'a'))
      expect(body).toBe(tools(id, 'a'))
    }
  })

  test('prompts, resources and templates; cacheScope becomes private', async () => {
    const answer = (list: string): string =>
      `{"jsonrpc":"2.0","id":7,"result":{${list},"ttlMs":1,"cacheScope":"public"}}`
    const shown = async (method: string, list: string): Promise<unknown> =>
      (JSON.parse((await answered(method, answer(list))).body) as { result: unknown }).result
    expect(await shown('prompts/list', '"prompts":[{"name":"hidden"},{"name":"p"}]')).toEqual({
      prompts: [{ name: 'p' }],
      ttlMs: 1,
      cacheScope: 'private',
    })
    expect(
      await shown(
        'resources/list',
        '"resources":[{"uri":"secret:a"},{"uri":"SECRET:a"},{"uri":"a:u"}]',
      ),
    ).toEqual({
      resources: [{ uri: 'a:u' }],
      ttlMs: 1,
      cacheScope: 'private',
    })
    expect(
      await shown('resources/templates/list', '"resourceTemplates":[{"uriTemplate":"secret:{x}"}]'),
    ).toEqual({ resourceTemplates: [], ttlMs: 1, cacheScope: 'private' })
  })

  test('events: the others, ids and comments', async () => {
    const progress =
      'event: message\nid: 1\ndata: {"jsonrpc":"2.0",\ndata: "method":"notifications/x"}\n\n'
    const stream = (list: string): string =>
      `: hello\n\n${progress}id: 2\r\ndata: ${list}\r\n\r\n${progress}`
    const { body } = await answered('tools/list', stream(tools(7, 'get-sum', 'a')), {
      type: 'text/event-stream',
    })
    expect(body).toBe(stream(tools(7, 'a')))
  })

  test('the stream of a GET, which may repeat an answer', async () => {
    const endpoint = 'event: endpoint\ndata: /messages\n\n'
    const { body } = await answered('GET', `${endpoint}data: ${tools(9, 'get-sum', 'a')}\n\n`, {
      type: 'text/event-stream',
    })
    expect(body).toBe(`${endpoint}data: ${tools(9, 'a')}\n\n`)
  })
})

const list = (...names: readonly string[]): string =>
  `{"jsonrpc":"2.0","id":7,"result":{"tools":[${names
    .map((name) => `{"name":"${name}","description":"the secret of ${name}"}`)
    .join()}]}}`

test('on a guarded route, webhooks see the filtered list and mask it', async () => {
  webhook.answer(sample)
  const masked = list('a').replace('secret', '****')
  const path = '/guarded'
  expect((await answered('tools/list', list('get-sum', 'a'), { path })).body).toBe(masked)
  const type = 'text/event-stream'
  const events = `data: ${list('a', 'get-sum')}\n\n`
  expect((await answered('tools/list', events, { path, type })).body).toBe(`data: ${masked}\n\n`)
  expect(questions(webhook)).toEqual([
    '/response tools/list | tool_definition: the secret of a',
    '/response tools/list | tool_definition: the secret of a',
  ])
})

test('an audited webhook sees the filtered list, and changes nothing', async () => {
  webhook.answer(sample)
  webhook.requests.length = 0
  const { body } = await answered('tools/list', list('get-sum', 'a'), { path: '/audited' })
  expect(body).toBe(list('a'))
  await eventually(() =>
    expect(questions(webhook)).toEqual(['/response tools/list | tool_definition: the secret of a']),
  )
})

describe('what cannot be read is 502', () => {
  test.each<[string, string, { type?: string; headers?: Record<string, string> }]>([
    ['no JSON', '{', {}],
    ['a member twice', tools(7, 'get-sum').replace('"x"', '"name"'), {}],
    ['an item without a name', '{"jsonrpc":"2.0","id":7,"result":{"tools":[{}]}}', {}],
    ['another type', 'tools', { type: 'text/plain' }],
    ['an encoding', tools(7, 'get-sum'), { headers: { 'content-encoding': 'gzip' } }],
    ['a first event that is none', 'data: {\n\n', { type: 'text/event-stream' }],
  ])('%s', async (_what, answer, options) => {
    const { status, body } = await answered('tools/list', answer, options)
    expect([status, JSON.parse(body)]).toMatchObject([502, { id: 7, error: { code: -32_603 } }])
  })

  test('behind an event that has left it ends the stream with an error', async () => {
    const first = 'data: {"jsonrpc":"2.0","method":"notifications/x"}\n\n'
    const { status, body } = await answered('tools/list', `${first}data: {\n\n`, {
      type: 'text/event-stream',
    })
    expect([status, body.startsWith(first), body.includes('-32603')]).toEqual([200, true, true])
  })
})

describe('a batch', () => {
  const asked = async (count: number): Promise<Answer> =>
    send(stack.origin, '/raw', {
      method: 'POST',
      headers: {
        authorization: `Bearer ${await tokenOf('alice')}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify(
        Array.from({ length: count }, (_, id) => ({ jsonrpc: '2.0', id, method: 'tools/list' })),
      ),
    })
  const answers = (...names: readonly string[]): string =>
    JSON.stringify(
      Array.from({ length: 100 }, (_, id) => ({
        jsonrpc: '2.0',
        id,
        result: { tools: names.map((name) => ({ name })) },
      })),
    )

  test('has its lists filtered, each by its id', async () => {
    backend.answer((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(answers('a', 'get-sum'))
    })
    expect(await asked(100)).toMatchObject({ status: 200, body: answers('a') })
  })

  test('of more messages than are read is 400, and does not reach the server', async () => {
    const seen = backend.requests.length
    expect((await asked(1_001)).status).toBe(400)
    expect(backend.requests).toHaveLength(seen)
  })
})
