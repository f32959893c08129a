// A real MCP server (@modelcontextprotocol/server-everything, streamable HTTP) on loopback.

import { ownPackages, type ResolvePackage } from './party-packages.js'
import { type Program, startProgram } from './program.js'

export type McpServer = Program

/** port: 0 or absent for a free one. Rejects when it does not come up, e.g. because the port is taken. */
export function startMcpServer(
  port = 0,
  resolve: ResolvePackage = ownPackages,
): Promise<McpServer> {
  const file = resolve('@modelcontextprotocol/server-everything/dist/index.js')
  return startProgram({ name: 'MCP server', file, args: ['streamableHttp'], port })
}
