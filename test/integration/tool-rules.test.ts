// Rules on tools, from a policy to a real MCP server: what official clients see of a denied tool.

import {
  Client as Client2,
  StreamableHTTPClientTransport as Transport2,
} from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type McpServer, startMcpServer } from '../../src/cli/demo/mcp-server.js'
import { eventually } from '../../testing/eventually.js'
import { pythonCall } from '../support/clients/python-call.js'
import { gateway, httpRoute, proxyBackend, proxyPolicy, rule } from '../support/resources.js'
import { type Stack, startStack } from '../support/stack.js'

let server: McpServer
let stack: Stack

const MEBIBYTE = 1024 * 1024

beforeAll(async () => {
  server = await startMcpServer()
  stack = await startStack({
    flags: ['--mcp-body-bytes', '16MiB'],
    resources: (port) => [
      gateway([port]),
      proxyBackend('everything', server),
      httpRoute('mcp', { rules: [rule('/mcp', 'everything')] }),
      proxyPolicy('mcp', 'mcp', {
        authorization: {
          action: 'Deny',
          policy: { matchExpressions: ['mcp.tool.name == "get-sum"'] },
        },
      }),
    ],
  })
})

afterAll(async () => {
  await stack.close()
  await server.close()
})

interface AnyClient {
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<unknown>
  listTools(): Promise<{ readonly tools: readonly { readonly name: string }[] }>
  close(): Promise<void>
}

async function connected(version: 1 | 2): Promise<AnyClient> {
  const url = new URL(`${stack.origin}/mcp`)
  const info = { name: 'gatehouse-tests', version: '1' }
  if (version === 1) {
    const client = new Client(info)
    await client.connect(new StreamableHTTPClientTransport(url))
    return client
  }
  const client = new Client2(info)
  await client.connect(new Transport2(url))
  return client
}

describe.each([1, 2] as const)('the TypeScript client, version %s', (version) => {
  test('calls a tool that is allowed, and sees why another is not', async () => {
    const client = await connected(version)
    try {
      expect((await client.listTools()).tools.map(({ name }) => name)).toContain('get-sum')
      const echo = await client.callTool({ name: 'echo', arguments: { message: 'hi' } })
      expect(JSON.stringify(echo)).toContain('Echo: hi')
      await expect(client.callTool({ name: 'get-sum', arguments: { a: 1, b: 2 } })).rejects.toThrow(
        'Forbidden: access to this resource is not allowed',
      )
    } finally {
      await client.close()
    }
  })
})

test('a path with parameters is refused by a JSON-RPC error', async () => {
  const answer = await fetch(`${stack.origin}/mcp;x`, { method: 'POST', body: '{}' })
  expect([answer.status, answer.headers.get('content-type')]).toEqual([400, 'application/json'])
  expect(await answer.json()).toEqual({
    jsonrpc: '2.0',
    id: null,
    error: { code: -32_600, message: 'Bad request: path parameters (";") are not accepted here' },
  })
})

test('the Python client sees it too', async () => {
  const url = `${stack.origin}/mcp`
  expect(await pythonCall(url, 'echo')).toMatchObject({ text: 'Echo: hi' })
  expect((await pythonCall(url, 'get-sum')).error).toContain(
    'Forbidden: access to this resource is not allowed',
  )
})

test('the largest body that --mcp-body-bytes can allow is judged, and a larger one is 413', async () => {
  const call = (name: string, bytes: number): string => {
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {} } }
    return JSON.stringify(message).padEnd(bytes)
  }
  const post = async (body: string): Promise<number> => {
    const headers = { 'content-type': 'application/json', accept: 'application/json' }
    return (await fetch(`${stack.origin}/mcp`, { method: 'POST', headers, body })).status
  }
  // On a busy machine a check of so much may take longer than Envoy waits for it.
  await eventually(async () => expect(await post(call('get-sum', 16 * MEBIBYTE))).toBe(403))
  expect(await post(call('get-sum', 16 * MEBIBYTE + 1))).toBe(413)
})
