// The demo is up: where everything is, and commands to try, for a person to copy.

import { join } from 'node:path'
import { SERVER_METADATA_PATH } from './demo-parties.js'
import { INITIALIZE } from './mcp-call.js'
import type { Print } from './print.js'
import type { DemoStack } from './stack.js'

export function printWhatToTry(stack: DemoStack, print: Print): void {
  const { origin, identityProvider, folder } = stack
  const mcp = `${origin}/mcp`
  print.heading('It is all up:')
  print.detail('MCP, protected', mcp)
  print.detail('status page', `http://${stack.admin}/`)
  print.detail('identity provider', identityProvider.issuer)
  print.detail('users', 'alice (in mcp-users), bob (not); no passwords')
  print.detail('Envoy admin', `http://${stack.envoyAdmin}/`)
  print.detail('resources', folder)
  print.heading('To try in another terminal:')
  print.command('refused, with a challenge', `curl -i -X POST ${mcp}`)
  print.command(
    'the documents that clients read',
    `curl ${origin}/.well-known/oauth-protected-resource/mcp`,
    `curl ${origin}${SERVER_METADATA_PATH}`,
  )
  print.command(
    'a token of alice (or bob), and a call with it',
    `TOKEN=$(curl -s ${identityProvider.origin}/token/alice)`,
    ...initializeCommand(mcp),
  )
  print.command(
    'let bob in: an edit of the resources is in force at once',
    `sed -i.bak s/mcp-users/staff/ ${join(folder, 'policy.yaml')}`,
  )
  print.command(
    'the MCP Inspector (Node 22.19 or newer): press Connect and log in as alice or bob',
    `npx @modelcontextprotocol/inspector --web --server-url ${mcp} --transport http`,
  )
  print.line(
    '\nCtrl-C stops everything and leaves nothing behind, edits of the resources included.',
  )
}

const initializeCommand = (mcp: string): readonly string[] => [
  `curl -i ${mcp} -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\`,
  `  -H 'Accept: application/json, text/event-stream' \\`,
  `  -d '${JSON.stringify(INITIALIZE)}'`,
]
