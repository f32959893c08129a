// The tour: what an MCP client does from its first request without a token to a tool call, printed as it happens.
// The client learns every address but the first on the way.

import { expectStatus, memberText, textsOf, UnexpectedAnswer } from './expectation.js'
import { logIn } from './idp/headless-login.js'
import { callEcho, INITIALIZE, INITIALIZED, mcpClient } from './mcp-call.js'
import type { Print } from './print.js'

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

// First part of the tour: from a call without a token to a registered client, by way of the discovery documents.

/** Endpoints in the authorization server's metadata (RFC 8414). */
interface Server {
  readonly authorizationEndpoint: string
  readonly tokenEndpoint: string
  readonly registrationEndpoint: string
}

/** What a client has learned from the discovery documents. */
export interface Discovered {
  readonly resource: string
  readonly scopes: readonly string[]
  readonly server: Server
}

const TIMEOUT_MS = 10_000

/** Runs the first part of the tour. */
async function discover(mcpUrl: string, print: Print): Promise<Discovered> {
  const metadataUrl = await challenge(mcpUrl, print)
  print.step('It reads about the protected resource (RFC 9728)')
  const document = await getJson(metadataUrl, print)
  print.answer(200, 'from the policy alone')
  print.json(document as object)
  const [issuer] = textsOf(metadataUrl, document, 'authorization_servers')
  if (issuer === undefined) throw new UnexpectedAnswer('expected an authorization server, got none')
  return {
    resource: memberText(metadataUrl, document, 'resource'),
    scopes: textsOf(metadataUrl, document, 'scopes_supported'),
    server: await serverMetadata(issuer, print),
  }
}

/** Returns the URL in the challenge. */
async function challenge(mcpUrl: string, print: Print): Promise<string> {
  print.step('An MCP client calls without a token')
  print.request('POST', mcpUrl, INITIALIZE)
  const answer = await mcpClient(mcpUrl)(INITIALIZE)
  expectStatus('a call without a token', answer, 401)
  const header = answer.headers.get('www-authenticate') ?? ''
  const url = /^Bearer resource_metadata="([^"]+)"/.exec(header)?.[1]
  if (url === undefined)
    throw new UnexpectedAnswer(`expected Bearer resource_metadata="URL", got "${header}"`)
  print.answer(401, 'refused, and told where to begin:')
  print.text(`WWW-Authenticate: ${header}`)
  return url
}

const SHOWN = [
  'issuer',
  'authorization_endpoint',
  'token_endpoint',
  'jwks_uri',
  'registration_endpoint',
  'code_challenge_methods_supported',
]

/** issuer: the gateway's own MCP URL; RFC 8414 section 3.1 derives the path of its metadata from it. */
async function serverMetadata(issuer: string, print: Print): Promise<Server> {
  print.step('It reads about the authorization server (RFC 8414)')
  const { origin, pathname } = new URL(issuer)
  const url = `${origin}/.well-known/oauth-authorization-server${pathname}`
  const document = await getJson(url, print)
  const members = new Map(Object.entries(document as object))
  print.answer(
    200,
    "the identity provider's document; issuer and registration_endpoint are the gateway's",
  )
  const shown = SHOWN.filter((name) => members.has(name))
  print.json(Object.fromEntries(shown.map((name) => [name, members.get(name) as unknown])))
  print.text(`… and ${String(members.size - shown.length)} members more`)
  return {
    authorizationEndpoint: memberText(url, document, 'authorization_endpoint'),
    tokenEndpoint: memberText(url, document, 'token_endpoint'),
    registrationEndpoint: memberText(url, document, 'registration_endpoint'),
  }
}

/** Registers a client and returns its id. */
async function register(
  { registrationEndpoint }: Server,
  redirectUri: string,
  print: Print,
): Promise<string> {
  const body = { client_name: 'The tour', redirect_uris: [redirectUri] }
  print.step('It registers itself (RFC 7591)')
  print.request('POST', registrationEndpoint, body)
  const response = await fetch(registrationEndpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  const answer = { status: response.status, body: await json(response) }
  expectStatus(registrationEndpoint, answer, 201)
  print.answer(201, 'the gateway answers for the provider, with the client of the policy')
  print.json(answer.body as object)
  return memberText(registrationEndpoint, answer.body, 'client_id')
}

async function getJson(url: string, print: Print): Promise<unknown> {
  print.request('GET', url)
  const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) })
  const body = await json(response)
  expectStatus(url, { status: response.status, body }, 200)
  return body
}

const json = (response: Response): Promise<unknown> => response.json().catch(() => undefined)
