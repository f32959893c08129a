// Sessions of MCP through a real Envoy: what policy denies does not end the session of an official client, and a session
// that the server makes while its reply is replaced is the client's all the same.

import {
  Client as Client2,
  StreamableHTTPClientTransport as Transport2,
} from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { answerJson, both, hook } from '../support/guardrails.js'
import { initialize } from '../support/http.js'
import { guardedMcp, type McpGuardStack, startMcpGuardStack } from '../support/mcp-guards.js'
import { proxyPolicy } from '../support/resources.js'
import { type SessionForm, sessionServer } from '../support/session-server.js'

let stack: McpGuardStack

beforeAll(async () => {
  stack = await startMcpGuardStack(() => [
    ...guardedMcp('/both', 'raw', both(hook('guard'))),
    ...guardedMcp('/replies', 'raw', { response: [hook('guard')] }),
    proxyPolicy('rules', 'replies', {
      authorization: {
        action: 'Deny',
        policy: { matchExpressions: ['mcp.tool.name == "denied"'] },
      },
    }),
  ])
})
afterAll(() => stack.close())
beforeEach(() => stack.reset())

interface AnyTransport {
  readonly sessionId: string | undefined
}
interface AnyClient {
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<unknown>
  close(): Promise<void>
}
interface Connecting {
  readonly client: AnyClient
  readonly transport: AnyTransport
  readonly connected: Promise<void>
}

/** sessionId: of a session to go on with. */
function connect(version: 1 | 2, path: string, sessionId?: string): Connecting {
  const url = new URL(stack.origin + path)
  const info = { name: 'gatehouse-tests', version: '1' }
  const known = sessionId === undefined ? {} : { sessionId, protocolVersion: '2025-11-25' }
  if (version === 1) {
    const [client, transport] = [new Client(info), new StreamableHTTPClientTransport(url, known)]
    return { client, transport, connected: client.connect(transport) }
  }
  const [client, transport] = [new Client2(info), new Transport2(url, known)]
  return { client, transport, connected: client.connect(transport) }
}

const echo = (message: string, name = 'echo') => ({ name, arguments: { message } })
const said = (text: string): object => ({ content: [{ type: 'text', text }] })

const CLIENTS = ([1, 2] as const).flatMap((version) =>
  (['JSON', 'events'] as const).map((form) => ({ version, form })),
)

describe.each(CLIENTS)('version $version of the client, replies as $form', ({ version, form }) => {
  const serve = (options: { form: SessionForm; instructions?: string }) => {
    const server = sessionServer(options)
    stack.server.answer(server.reply)
    return server
  }

  test.each([
    ['a rule denies a call', '/replies', echo('x', 'denied'), 'Forbidden'],
    ['a webhook rejects a call', '/both', echo('block'), 'request blocked'],
    ['a webhook rejects a result', '/replies', echo('block'), 'request blocked'],
    ['a webhook masks a result', '/replies', echo('a secret'), 'a ****'],
  ])('the session goes on after %s', async (_name, path, call, answer) => {
    const server = serve({ form })
    const { client, transport, connected } = connect(version, path)
    await connected
    try {
      const { sessionId } = transport
      const shown = await client.callTool(call).then(JSON.stringify, String)
      expect(shown).toContain(answer)
      expect(transport.sessionId).toBe(sessionId)
      expect(await client.callTool(echo('hi'))).toEqual(said('hi'))
      expect([...server.sessions]).toEqual([sessionId])
    } finally {
      await client.close()
    }
  })

  test('a session is usable whose initialize was answered by a reject', async () => {
    const server = serve({ form, instructions: 'block' })
    const first = connect(version, '/replies')
    await expect(first.connected).rejects.toThrow('request blocked')
    expect([...server.sessions]).toEqual([first.transport.sessionId])
    const next = connect(version, '/replies', first.transport.sessionId)
    await next.connected
    try {
      expect(await next.client.callTool(echo('hi'))).toEqual(said('hi'))
    } finally {
      await next.client.close()
    }
  })
})

test.each(['JSON', 'events'] as const)(
  'a session is usable whose initialize found no webhook: %s',
  async (form) => {
    const server = sessionServer({ form, instructions: 'be kind' })
    stack.server.answer(server.reply)
    stack.webhook.answer((_request, response) => void response.writeHead(500).end())
    const begun = await stack.post('/replies', initialize.body)
    const session = begun.headers['mcp-session-id']?.toString() ?? ''
    expect([begun.body, [...server.sessions]]).toEqual([
      expect.stringContaining('The guardrail is unavailable.'),
      [session],
    ])
    stack.reset()
    const ping = { jsonrpc: '2.0', id: 2, method: 'ping' }
    expect((await stack.post('/replies', ping, { 'mcp-session-id': session })).status).toBe(200)
  },
)

test.each([401, 404])(
  'a notification that a webhook rejects with %s ends no session',
  async (code) => {
    stack.server.answer(sessionServer({ form: 'JSON' }).reply)
    stack.webhook.answer(answerJson({ action: { body: 'no', status_code: code } }))
    const message = { jsonrpc: '2.0', method: 'notifications/progress', params: { message: 'x' } }
    const answer = await stack.post('/both', message, { 'mcp-session-id': 'session-1' })
    expect([answer.status, JSON.parse(answer.body)]).toEqual([
      403,
      { jsonrpc: '2.0', id: null, error: { code: -32010, message: 'no', data: { status: code } } },
    ])
  },
)
