// The tour: what an MCP client does from its first request without a token to a tool call, printed as it happens.

import { logIn } from './headless-login.js'
import { callTool } from './mcp-call.js'
import type { Print } from './print.js'

const WELL_KNOWN_RESOURCE = '/.well-known/oauth-protected-resource/mcp'
const WELL_KNOWN_SERVER = '/.well-known/oauth-authorization-server/mcp'
const REDIRECT_URI = 'http://127.0.0.1:33418/callback'

/** Access tokens by user. */
export type Tokens = Readonly<Record<'alice' | 'bob', string>>

/** origin: the gateway's. Rejects with an Error that says which step went otherwise than it should. */
export async function takeTour(origin: string, print: Print): Promise<Tokens> {
  await withoutToken(origin, print)
  const scopes = await resourceMetadata(origin, print)
  const server = await serverMetadata(origin, print)
  const clientId = await register(server.registration_endpoint, print)
  const login = {
    authorizationEndpoint: server.authorization_endpoint,
    tokenEndpoint: server.token_endpoint,
    clientId,
    redirectUri: REDIRECT_URI,
    scope: scopes.join(' '),
    resource: `${origin}/mcp`,
  }
  const alice = await withLogin(print, 'alice', () => logIn({ ...login, user: 'alice' }))
  await toolCall(origin, alice, print)
  const bob = await withLogin(print, 'bob', () => logIn({ ...login, user: 'bob' }))
  await refusedCall(origin, bob, print)
  return { alice, bob }
}

async function withoutToken(origin: string, print: Print): Promise<void> {
  print.step('A client calls the MCP server without a token')
  print.detail('POST', `${origin}/mcp`)
  const { response } = await callTool(`${origin}/mcp`)
  expectStatus(response, 401)
  print.answer(401, 'not without a token; the challenge says where a login begins:')
  print.detail('www-authenticate', response.headers.get('www-authenticate') ?? '')
}

async function resourceMetadata(origin: string, print: Print): Promise<readonly string[]> {
  print.step('It reads about the protected resource')
  const document = await getJson<ResourceMetadata>(`${origin}${WELL_KNOWN_RESOURCE}`, print)
  print.answer(200, 'served by the gateway')
  print.detail('resource', document.resource)
  print.detail('authorization_servers', document.authorization_servers.join(', '))
  print.detail('scopes_supported', document.scopes_supported.join(' '))
  return document.scopes_supported
}

async function serverMetadata(origin: string, print: Print): Promise<ServerMetadata> {
  print.step('It reads about the authorization server')
  const document = await getJson<ServerMetadata>(`${origin}${WELL_KNOWN_SERVER}`, print)
  print.answer(200, "the identity provider's own document, with the registration it lacks")
  print.detail('issuer', document.issuer)
  print.detail('authorization_endpoint', document.authorization_endpoint)
  print.detail('registration_endpoint', document.registration_endpoint)
  return document
}

async function register(endpoint: string, print: Print): Promise<string> {
  print.step('It registers itself')
  print.detail('POST', endpoint)
  const response = await fetch(endpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_name: 'The tour', redirect_uris: [REDIRECT_URI] }),
  })
  expectStatus(response, 201)
  const { client_id } = (await response.json()) as { client_id: string }
  print.answer(201, 'answered by the gateway with the client that the provider knows')
  print.detail('client_id', client_id)
  return client_id
}

async function withLogin(
  print: Print,
  user: string,
  login: () => Promise<string>,
): Promise<string> {
  print.step(`${user} logs in (authorization code with PKCE)`)
  const token = await login()
  const claims = claimsOf(token)
  print.answer(200, 'an access token; its claims:')
  for (const name of ['iss', 'aud', 'sub', 'groups']) {
    print.detail(name, [claims[name]].flat().map(String).join(', '))
  }
  return token
}

async function toolCall(origin: string, token: string, print: Print): Promise<void> {
  print.step("alice's client calls the tool echo")
  print.detail('POST', `${origin}/mcp  (Authorization: Bearer ...)`)
  const { response, text } = await callTool(`${origin}/mcp`, token)
  expectStatus(response, 200)
  print.answer(200, 'the token is good and alice is in mcp-users; the MCP server says:')
  print.detail('echo', text ?? '')
}

async function refusedCall(origin: string, token: string, print: Print): Promise<void> {
  print.step("bob's client calls the same tool")
  print.detail('POST', `${origin}/mcp  (Authorization: Bearer ...)`)
  const { response } = await callTool(`${origin}/mcp`, token)
  expectStatus(response, 403)
  print.answer(403, 'the token is good, but bob is not in mcp-users')
}

interface ResourceMetadata {
  readonly resource: string
  readonly authorization_servers: readonly string[]
  readonly scopes_supported: readonly string[]
}

interface ServerMetadata {
  readonly issuer: string
  readonly authorization_endpoint: string
  readonly token_endpoint: string
  readonly registration_endpoint: string
}

async function getJson<Document>(url: string, print: Print): Promise<Document> {
  print.detail('GET', url)
  const response = await fetch(url)
  expectStatus(response, 200)
  return (await response.json()) as Document
}

function expectStatus(response: Response, status: number): void {
  if (response.status === status) return
  throw new Error(
    `${response.url} answered ${String(response.status)} instead of ${String(status)}`,
  )
}

/** Only to be shown: the gateway verifies, the tour does not. */
function claimsOf(token: string): Record<string, unknown> {
  const payload = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()
  return JSON.parse(payload) as Record<string, unknown>
}
