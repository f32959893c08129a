// The demo's MCP server starts on loopback, answers, and stops.

import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { expect, test } from 'vitest'
import { startMcpServer } from '../../../src/cli/demo/mcp-server.js'

test('serves tools on loopback until it is closed', async () => {
  const server = await startMcpServer()
  const url = new URL(`http://${server.host}:${String(server.port)}/mcp`)
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(url))
  const { tools } = await client.listTools()
  expect(tools.map(({ name }) => name)).toContain('echo')
  await client.close()
  await server.close()
  await expect(fetch(url)).rejects.toThrow('fetch failed')
})

test('says so when the port is taken', async () => {
  const server = await startMcpServer()
  await expect(startMcpServer(server.port)).rejects.toThrow('did not start')
  await server.close()
})
