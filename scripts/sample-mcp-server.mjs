// The demo's MCP server (@modelcontextprotocol/server-everything) for docker-compose, on the port in PORT. The first
// process of a container ignores signals without a handler, and this server has none for SIGTERM.

process.on('SIGTERM', () => process.exit(0))
process.argv[2] = 'streamableHttp'
await import('@modelcontextprotocol/server-everything/dist/index.js')
