// A real MCP server (@modelcontextprotocol/server-everything, streamable HTTP) on loopback.

import { createRequire } from 'node:module'
import { type Program, startProgram } from './program.js'

export type McpServer = Program

/** port: 0 or absent for a free one. Rejects when it does not come up, e.g. because the port is taken. */
export function startMcpServer(port = 0): Promise<McpServer> {
  const require = createRequire(import.meta.url)
  const file = require.resolve('@modelcontextprotocol/server-everything/dist/index.js')
  return startProgram({ name: 'MCP server', file, args: ['streamableHttp'], port })
}
