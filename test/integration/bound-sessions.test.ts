// mcp.bindSession through a real Envoy: official clients go on with the session that they began, whatever else is done with
// replies, and nobody else can use it.

import {
  Client as Client2,
  StreamableHTTPClientTransport as Transport2,
} from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { both, hook } from '../support/guardrails.js'
import { type Answer, bearer, send } from '../support/http.js'
import { guardedMcp, type McpGuardStack, startMcpGuardStack } from '../support/mcp-guards.js'
import { ISSUER, sign } from '../support/protected-stack.js'
import { httpRoute, proxyPolicy, rule } from '../support/resources.js'
import { type SessionForm, sessionServer } from '../support/session-server.js'
import { keySet, newKey, type SigningKey } from '../support/tokens.js'

let key: SigningKey
let stack: McpGuardStack

beforeAll(async () => {
  key = await newKey('k1')
  const bound = (more: object = {}): object => ({
    jwtAuthentication: {
      providers: [
        { issuer: ISSUER, audiences: ['mcp'], jwks: { inline: JSON.stringify(keySet(key)) } },
      ],
      mcp: { bindSession: true, ...more },
    },
  })
  const rules = {
    authorization: {
      action: 'Deny',
      policy: { matchExpressions: ['mcp.tool.name == "denied"'] },
    },
  }
  stack = await startMcpGuardStack(() => [
    httpRoute('plain', { rules: [rule('/plain', 'raw')] }),
    proxyPolicy('plain', 'plain', bound()),
    httpRoute('lists', { rules: [rule('/lists', 'raw')] }),
    proxyPolicy('lists', 'lists', { ...bound({ filterLists: true }), ...rules }),
    ...guardedMcp('/guarded', 'raw', both(hook('guard'))),
    proxyPolicy('guarded', 'guarded', bound()),
  ])
})
afterAll(() => stack.close())
beforeEach(() => stack.reset())

const tokenOf = (sub: string): Promise<string> => sign(key, { sub, aud: 'mcp' })

interface AnyClient {
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<unknown>
  close(): Promise<void>
}
interface AnyTransport {
  readonly sessionId: string | undefined
  terminateSession(): Promise<void>
}

async function connect(
  version: 1 | 2,
  path: string,
): Promise<{ readonly client: AnyClient; readonly transport: AnyTransport }> {
  const url = new URL(stack.origin + path)
  const info = { name: 'gatehouse-tests', version: '1' }
  const options = { requestInit: { headers: bearer(await tokenOf('alice')) } }
  if (version === 1) {
    const [client, transport] = [new Client(info), new StreamableHTTPClientTransport(url, options)]
    await client.connect(transport)
    return { client, transport }
  }
  const [client, transport] = [new Client2(info), new Transport2(url, options)]
  await client.connect(transport)
  return { client, transport }
}

const echo = { name: 'echo', arguments: { message: 'hi' } }
const SAID = { content: [{ type: 'text', text: 'hi' }] }

/** Sends a message in a session; undefined: in none. */
const ask = async (
  path: string,
  sub: string,
  session: string | undefined,
  method: 'POST' | 'GET' | 'DELETE' = 'POST',
): Promise<Answer> =>
  send(stack.origin, path, {
    method,
    headers: {
      ...bearer(await tokenOf(sub)),
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(session !== undefined && { 'mcp-session-id': session }),
    },
    ...(method === 'POST' && {
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: echo }),
    }),
  })

const ROUTES = ['/plain', '/lists', '/guarded'].flatMap((path) =>
  (['JSON', 'events'] as const).map((form) => ({ path, form })),
)

describe.each(ROUTES)('$path, replies as $form', ({ path, form }) => {
  const serve = (more: { readonly repeats?: true } = {}) => {
    const server = sessionServer({ form, ...more } satisfies { form: SessionForm })
    stack.server.answer(server.reply)
    return server
  }

  test.each([1, 2] as const)(
    'version %s of the client begins, uses and ends it',
    async (version) => {
      const server = serve()
      const { client, transport } = await connect(version, path)
      const { sessionId = '' } = transport
      expect([...server.sessions]).toEqual(['session-1'])
      expect(sessionId).toMatch(/^[\w-]{100,300}$/)
      expect(await client.callTool(echo)).toEqual(SAID)
      await transport.terminateSession()
      await client.close()
      expect([...server.sessions]).toEqual([])
      expect(new Set(server.asked)).toEqual(new Set([undefined, 'session-1']))
    },
  )

  test('nobody else can use it', async () => {
    const server = serve()
    const { client, transport } = await connect(1, path)
    await client.close()
    const { sessionId } = transport
    const arrived = server.asked.length
    for (const method of ['POST', 'GET', 'DELETE'] as const) {
      expect((await ask(path, 'mallory', sessionId, method)).status).toBe(404)
      expect((await ask(path, 'alice', 'session-1', method)).status).toBe(404)
    }
    expect(server.asked.length).toBe(arrived)
    const own = await ask(path, 'alice', sessionId)
    expect([own.status, own.body]).toEqual([200, expect.stringContaining('"hi"')])
  })

  test('a server that repeats the id does not change it', async () => {
    serve({ repeats: true })
    const { client, transport } = await connect(1, path)
    const { sessionId } = transport
    expect(await client.callTool(echo)).toEqual(SAID)
    expect((await ask(path, 'alice', sessionId)).headers['mcp-session-id']).toBe(sessionId)
    await client.close()
  })
})

test('the stream of a GET stays open in the session', async () => {
  const server = sessionServer({ form: 'JSON' })
  stack.server.answer((request, response) => {
    if (request.method !== 'GET') return server.reply(request, response)
    response.writeHead(200, {
      'content-type': 'text/event-stream',
      'mcp-session-id': request.headers['mcp-session-id'],
    })
    response.write(': open\n\n')
  })
  const { client, transport } = await connect(2, '/plain')
  const { sessionId = '' } = transport
  const aborter = new AbortController()
  const { status, headers, body } = await fetch(`${stack.origin}/plain`, {
    headers: {
      ...bearer(await tokenOf('alice')),
      accept: 'text/event-stream',
      'mcp-session-id': sessionId,
    },
    signal: aborter.signal,
  })
  expect([status, headers.get('mcp-session-id')]).toEqual([200, sessionId])
  const first = await body?.getReader().read()
  expect(Buffer.from(first?.value ?? []).toString()).toBe(': open\n\n')
  aborter.abort()
  await client.close()
})

test.each(ROUTES.filter(({ form }) => form === 'JSON'))(
  'a session that cannot be sealed is none: $path',
  async ({ path }) => {
    stack.server.answer((_request, response) => {
      response
        .writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'x'.repeat(2000) })
        .end('{"jsonrpc":"2.0","id":1,"result":{}}')
    })
    const { status, headers, body } = await ask(path, 'alice', undefined)
    expect([status, headers['mcp-session-id'], JSON.parse(body)]).toMatchObject([
      502,
      undefined,
      { error: { message: 'Bad gateway: the session of the server cannot be bound' } },
    ])
  },
)
