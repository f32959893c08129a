// The tour: what an MCP client does from its first request without a token to a tool call, printed as it happens.
// The client learns every address but the first on the way.

import { expectStatus, UnexpectedAnswer } from './expectation.js'
import { logIn } from './idp/headless-login.js'
import { callEcho, INITIALIZE, INITIALIZED, mcpClient } from './mcp-call.js'
import type { Print } from './print.js'
import { discover, register, type Server } from './tour-discovery.js'

const REDIRECT_URI = 'http://127.0.0.1:33418/callback'

/** mcpUrl: MCP URL of the gateway. Rejects with an Error that says what was expected and what came instead. */
export async function takeTour(mcpUrl: string, print: Print): Promise<void> {
  print.heading('The tour: what an MCP client does to get through')
  const { resource, server, scopes } = await discover(mcpUrl, print)
  const clientId = await register(server, REDIRECT_URI, print)
  const login = { server, clientId, resource, scopes }
  await callAsAlice(mcpUrl, await logInAs('alice', login, print), print)
  await callAsBob(mcpUrl, await logInAs('bob', login, print), print)
}

interface Login {
  readonly server: Server
  readonly clientId: string
  readonly resource: string
  readonly scopes: readonly string[]
}

async function logInAs(user: string, login: Login, print: Print): Promise<string> {
  const { authorizationEndpoint, tokenEndpoint } = login.server
  print.step(`${user} logs in: authorization code with PKCE, through a headless browser`)
  print.request('GET', `${authorizationEndpoint}?response_type=code&code_challenge_method=S256&…`)
  print.request('POST', tokenEndpoint)
  const token = await logIn({
    authorizationEndpoint,
    tokenEndpoint,
    clientId: login.clientId,
    redirectUri: REDIRECT_URI,
    scope: login.scopes.join(' '),
    resource: login.resource,
    user,
  })
  print.answer(200, 'an access token, for the client to send with every call; its claims:')
  const claims = claimsOf(token)
  for (const name of ['iss', 'aud', 'sub', 'groups']) {
    print.detail(name, [claims[name]].flat().join(', '))
  }
  return token
}

async function callAsAlice(mcpUrl: string, token: string, print: Print): Promise<void> {
  print.step('alice calls a tool')
  const send = mcpClient(mcpUrl, token)
  print.request('POST', `${mcpUrl}   Authorization: Bearer …`, INITIALIZE)
  const opened = await send(INITIALIZE)
  expectStatus('initialize', opened, 200)
  const { serverInfo } = resultOf(opened.body) as { serverInfo?: { name?: string } }
  print.answer(200, `${serverInfo?.name ?? 'the MCP server'} opens a session`)
  await send(INITIALIZED)
  const call = callEcho('hello through the gateway')
  print.request('POST', mcpUrl, call)
  const called = await send(call)
  expectStatus('tools/call', called, 200)
  print.answer(200, 'the tool has run:')
  print.text(JSON.stringify(resultOf(called.body)))
}

async function callAsBob(mcpUrl: string, token: string, print: Print): Promise<void> {
  print.step('bob, who is not in the group, calls it too')
  print.request('POST', `${mcpUrl}   Authorization: Bearer …`, INITIALIZE)
  const refused = await mcpClient(mcpUrl, token)(INITIALIZE)
  expectStatus("bob's call", refused, 403)
  print.answer(403, 'a good token, but the policy wants "mcp-users" in jwt.groups')
  print.text(JSON.stringify(refused.body))
}

function resultOf(message: unknown): object {
  const { result } = (message ?? {}) as { result?: object; error?: object }
  if (result !== undefined) return result
  throw new UnexpectedAnswer(`expected a JSON-RPC result, got ${JSON.stringify(message)}`)
}

/** Decodes the claims for display, without verifying the token: the gateway does that. */
function claimsOf(token: string): Record<string, string | string[]> {
  const payload = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()
  return JSON.parse(payload) as Record<string, string | string[]>
}
