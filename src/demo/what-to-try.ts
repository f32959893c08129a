// The demo is up: where everything is, and commands to try, for a person to copy.

import type { Print } from './print.js'
import type { DemoStack } from './stack.js'
import type { Tokens } from './tour.js'

/** tokens: absent when no tour was taken. */
export async function printWhatToTry(
  stack: DemoStack,
  print: Print,
  tokens?: Tokens,
): Promise<void> {
  const { origin, folder } = stack
  const mcp = `${origin}/mcp`
  print.line('\nUp and running:')
  print.detail('MCP server, protected', mcp)
  print.detail('status page', `http://${stack.admin}/`)
  print.detail('identity provider', `${stack.identityProvider.issuer}  (users: alice, bob)`)
  print.detail("Envoy's admin page", `http://127.0.0.1:${String(stack.envoyAdminPort)}/`)
  print.detail('resources', `${folder.resources}  (edit them: a change is in force at once)`)
  print.line('\nTo try:')
  print.line(`   curl -i -X POST ${mcp}`)
  print.line(`   curl ${origin}/.well-known/oauth-protected-resource/mcp`)
  print.line(`   curl ${origin}/.well-known/oauth-authorization-server/mcp`)
  for (const [user, token] of Object.entries(tokens ?? {})) {
    print.line(curlAs(await folder.keep(`${user}.header`, header(token)), mcp, user))
  }
  print.line(
    `   npx @modelcontextprotocol/inspector --web --server-url ${mcp} --transport http\n` +
      '       (the MCP Inspector, needs Node 22.19 or newer: press Connect, log in as alice or bob)',
  )
  print.line('\nCtrl-C stops everything and leaves nothing behind.')
}

const header = (token: string): string => `Authorization: Bearer ${token}\n`

function curlAs(file: string, mcp: string, user: string): string {
  const initialize =
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"curl","version":"1"}}}'
  return [
    `   curl -i ${mcp} -H @${file} \\`,
    `       -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \\`,
    `       -d '${initialize}'   # as ${user}`,
  ].join('\n')
}
