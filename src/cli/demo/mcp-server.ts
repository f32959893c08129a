// Starts a real MCP server (@modelcontextprotocol/server-everything, streamable HTTP) on loopback.

import { ownPackages, type ResolvePackage } from './party-packages.js'
import { type Program, startProgram } from './program.js'

/** A running MCP server. */
export type McpServer = Program

/** Rejects when it does not start, e.g. because the port is in use. port: 0 or absent for a free one. */
export function startMcpServer(
  port = 0,
  resolve: ResolvePackage = ownPackages,
): Promise<McpServer> {
  const file = resolve('@modelcontextprotocol/server-everything/dist/index.js')
  return startProgram({ name: 'MCP server', file, args: ['streamableHttp'], port })
}
