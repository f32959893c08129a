// First part of the tour: from a call without a token to a registered client, by way of the discovery documents.

import { expectStatus, memberText, textsOf, UnexpectedAnswer } from './expectation.js'
import { INITIALIZE, mcpClient } from './mcp-call.js'
import type { Print } from './print.js'

/** Endpoints in the authorization server's metadata (RFC 8414). */
export interface Server {
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
export async function discover(mcpUrl: string, print: Print): Promise<Discovered> {
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
export async function register(
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
