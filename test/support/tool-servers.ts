// MCP servers of the official SDKs with two tools, `allowed` and `forbidden`, which record the tools they execute.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { inject } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'

import './envoy.js'

export interface ToolServer {
  readonly host: string
  readonly port: number
  /** Names of executed tools, in order. */
  readonly executed: string[]
  close(): Promise<void>
}

const HOST = '127.0.0.1'

/** Starts the TypeScript SDK behind the body parser of its own Express app. */
export async function startTypeScriptTools(): Promise<ToolServer> {
  const executed: string[] = []
  const app = createMcpExpressApp()
  app.all('/mcp', async (request, response) => {
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true })
    response.on('close', () => void transport.close())
    await toolsOf(executed).connect(transport)
    await transport.handleRequest(request, response, request.body)
  })
  const server = await new Promise<Server>((started) => {
    const listening = app.listen(0, HOST, () => started(listening))
    // As in http-server.ts.
    listening.keepAliveTimeout = 0
  })
  return {
    host: HOST,
    port: (server.address() as AddressInfo).port,
    executed,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function toolsOf(executed: string[]): McpServer {
  const server = new McpServer({ name: 'tools', version: '1' })
  for (const name of ['allowed', 'forbidden'])
    server.registerTool(name, {}, () => {
      executed.push(name)
      return { content: [{ type: 'text', text: 'done' }] }
    })
  return server
}

const PROGRAM = resolve(import.meta.dirname, 'python/tools_server.py')

/** Starts the Python SDK in a separate process. */
export async function startPythonTools(): Promise<ToolServer> {
  const executed: string[] = []
  const port = await freePort()
  const child = spawn(inject('python'), [PROGRAM, String(port)], {
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  createInterface({ input: child.stdout }).on('line', (line) => {
    const [, name] = /^executed (\w+)$/.exec(line) ?? []
    if (name !== undefined) executed.push(name)
  })
  await eventually(async () => {
    await fetch(`http://${HOST}:${String(port)}/mcp`)
  }, 60_000)
  return { host: HOST, port, executed, close: () => stop(child) }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'close')
}
