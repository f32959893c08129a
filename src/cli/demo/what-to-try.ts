// Prints where everything is once the demo is up, and commands to copy.

import { join } from 'node:path'
import { formatAddress, type ServerAddress } from '../../ops/settings/values.js'
import { SERVER_METADATA_PATH } from './demo-parties.js'
import { chatWith } from './llm-call.js'
import { INITIALIZE } from './mcp-call.js'
import type { Print } from './print.js'
import type { DemoStack } from './stack.js'

/** Adds a newline to the output: the shell's prompt then starts on its own line. */
const CURL = `curl -w '\\n'`
/** Shows the text in each event as soon as it arrives. */
const SAID = `grep --line-buffered -o '"content":"[^}]*"'`

const ADDRESS_PROMPT = chatWith('I am bob@example.com')
const STREAM_PROMPT = chatWith('I am bob@example.com', true)
const WORD_PROMPT = chatWith('Is the password swordfish?')

/** Prints where everything is, and commands to copy. */
export function printWhatToTry(stack: DemoStack, print: Print): void {
  const { origin, folder, parties } = stack
  print.heading('It is all up:')
  print.detail('MCP, protected', `${origin}/mcp`)
  print.detail('LLM, guarded', `${origin}/v1 (OpenAI's API, any key)`)
  print.detail('status page', pageCommand(stack.admin))
  print.detail('identity provider', parties.identityProvider.issuer)
  print.detail('users', 'alice (in mcp-users), bob (not); no passwords')
  if (stack.envoyAdmin !== undefined) print.detail('Envoy admin', adminCommand(stack.envoyAdmin))
  print.detail('resources', folder)
  print.heading('To try in another terminal:')
  printMcpCommands(stack, print)
  printLlmCommands(stack, print)
  print.line(
    '\nCtrl-C stops everything and leaves nothing behind, edits of the resources included.',
  )
}

/** admin: HOST:PORT, or unix:PATH, which no browser opens. */
const pageCommand = (admin: string): string =>
  admin.startsWith('unix:')
    ? `curl --unix-socket ${admin.slice('unix:'.length)} http://localhost/status`
    : `http://${admin}/`

const adminCommand = (address: ServerAddress): string =>
  address.type === 'unix'
    ? `curl --unix-socket ${address.path} http://localhost/help`
    : `http://${formatAddress(address)}/`

function printMcpCommands({ origin, folder, parties }: DemoStack, print: Print): void {
  const mcp = `${origin}/mcp`
  const { identityProvider } = parties
  print.command('refused, with a challenge', `${CURL} -i -X POST ${mcp}`)
  print.command(
    'the documents that clients read',
    `${CURL} ${origin}/.well-known/oauth-protected-resource/mcp`,
    `${CURL} ${origin}${SERVER_METADATA_PATH}`,
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
}

function printLlmCommands({ origin, parties }: DemoStack, print: Print): void {
  const { llm } = parties
  print.command(
    'a prompt: the webhook masks the address in it, and the one in the answer',
    ...chatCommand(CURL, origin, ADDRESS_PROMPT),
  )
  print.command(
    'the answer as a stream, what is said in each event: masked as it comes',
    ...chatCommand('curl -sN', origin, STREAM_PROMPT, ` | ${SAID}`),
  )
  print.command('a word that it blocks: 403', ...chatCommand(`${CURL} -i`, origin, WORD_PROMPT))
  print.command(
    'the first prompt past the gateway: the model sees the address, and tells another',
    ...chatCommand(CURL, `http://${llm.host}:${String(llm.port)}`, ADDRESS_PROMPT),
  )
}

const chatCommand = (curl: string, origin: string, chat: object, then = ''): readonly string[] => [
  `${curl} ${origin}/v1/chat/completions -H 'Content-Type: application/json' \\`,
  `  -d '${JSON.stringify(chat)}'${then}`,
]

const initializeCommand = (mcp: string): readonly string[] => [
  `curl -i ${mcp} -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\`,
  `  -H 'Accept: application/json, text/event-stream' \\`,
  `  -d '${JSON.stringify(INITIALIZE)}'`,
]
