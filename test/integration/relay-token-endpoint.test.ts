// A relay whose provider has its token endpoint at another origin than its issuer, as Amazon Cognito does: logins fail
// until the policy names that origin. The official client then logs in, directly or through the backend that the policy
// names.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type McpServer, startMcpServer } from '../../src/cli/demo/mcp-server.js'
import { eventually } from '../../testing/eventually.js'
import { REDIRECT_URI } from '../support/clients/client-run.js'
import { ts2 } from '../support/clients/ts2.js'
import { type HttpServer, startHttpServer } from '../support/http-server.js'
import { idpOne, startTestIdp, type TestIdp } from '../support/identity-provider.js'
import { authorizationAt, registerAt } from '../support/relay-login.js'
import { consenting, providerFetched, relayPolicy } from '../support/relay-stack.js'
import { API_GROUP, gateway, mcpRoute, proxyBackend } from '../support/resources.js'
import { type Stack, startStack } from '../support/stack.js'

/** Nobody resolves it: it is reached through a backend alone. */
const UNRESOLVED = 'http://tokens.idp.example'
/** Marks what the test itself asks the provider. */
const OWN = { 'x-test': 'own' }

let idp: TestIdp
/** Has the token endpoint, and nothing else. */
let tokens: HttpServer
let server: McpServer
let stack: Stack
/** The origin of the token endpoint in the discovery document. */
let tokenOrigin: string
/** Host headers of the calls of the token endpoint. */
const asked: (string | undefined)[] = []

beforeAll(async () => {
  ;[idp, server] = await Promise.all([startTestIdp(idpOne, { sendIss: true }), startMcpServer()])
  tokens = await startHttpServer((request, response) => void passOn(request, response))
  tokenOrigin = tokens.origin
  idp.intercept((request, response) => {
    if (request.headers['x-test'] !== undefined) return false
    const isToken = request.method === 'POST' && request.url?.endsWith('/token') === true
    if (isToken) response.writeHead(500).end('the token endpoint is elsewhere')
    const isDocument = request.url?.endsWith('/.well-known/openid-configuration') === true
    if (isDocument) void document(response)
    return isToken || isDocument
  })
  stack = await startStack({ resources: (port) => resources(port, undefined) })
})

afterAll(async () => {
  await stack.close()
  await Promise.all([server.close(), tokens.close(), idp.close()])
})

beforeEach(() => void asked.splice(0))

async function document(response: ServerResponse): Promise<void> {
  const url = `${idp.issuer}.well-known/openid-configuration`
  const own = (await (await fetch(url, { headers: OWN })).json()) as { token_endpoint: string }
  const token = tokenOrigin + new URL(own.token_endpoint).pathname
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ ...own, token_endpoint: token }))
}

async function passOn(request: IncomingMessage, response: ServerResponse): Promise<void> {
  asked.push(request.headers.host)
  const answer = await fetch(idp.origin + (request.url ?? ''), {
    method: 'POST',
    headers: { ...OWN, 'content-type': request.headers['content-type'] ?? '' },
    body: await text(request),
  })
  response.writeHead(answer.status, { 'content-type': 'application/json' })
  response.end(await answer.text())
}

const resources = (port: number, tokenEndpoint: object | undefined): readonly object[] => [
  gateway([port]),
  proxyBackend('everything', server),
  proxyBackend('idp', idp),
  proxyBackend('tokens', tokens),
  mcpRoute('mcp', 'everything'),
  relayPolicy(
    idp,
    `http://127.0.0.1:${String(port)}/mcp`,
    tokenEndpoint === undefined ? undefined : { tokenEndpoint },
  ),
]

/** Waits until the condition says so of the policy. */
async function configure(tokenEndpoint: object | undefined, sentence: RegExp): Promise<void> {
  await stack.write('resources.yaml', ...resources(stack.port, tokenEndpoint))
  await eventually(async () => {
    const policy = (await stack.status()).find(({ kind }) => kind === 'ProxyPolicy')
    expect(policy?.conditions[0]?.message).toMatch(sentence)
  })
}

const refused = (of: string): RegExp =>
  new RegExp(`^Logins are refused: the discovery document names no token_endpoint of ${of}`)

describe('no client is sent to the provider', () => {
  const authorize = async (): Promise<Response> =>
    fetch(authorizationAt(stack.origin, await registerAt(stack.origin), 'v'.repeat(43)), {
      redirect: 'manual',
    })

  test.each([
    ['while the policy names no origin', undefined, "the issuer's origin"],
    [
      'where it names another one than the document',
      { origin: UNRESOLVED },
      `mcp\\.relay\\.tokenEndpoint\\.origin ${UNRESOLVED}`,
    ],
  ])('%s', async (_, tokenEndpoint, of) => {
    await configure(tokenEndpoint, refused(of))
    const location = new URL((await authorize()).headers.get('location') ?? '')
    expect(location.href).toContain(REDIRECT_URI)
    expect(location.searchParams.get('error')).toBe('temporarily_unavailable')
    expect(asked).toEqual([])
  })

  test('and the condition states what to name', async () => {
    await configure(undefined, new RegExp(`if ${tokens.origin} is the provider's, name it in `))
  })
})

test('the official client logs in and calls a tool, once the policy names the origin', async () => {
  await configure({ origin: tokens.origin }, /^Policy accepted/)
  const run = await ts2(`${stack.origin}/mcp`, 'alice', consenting)
  expect(run.echo).toBe('Echo: hi')
  expect(asked).toEqual([new URL(tokens.origin).host])
})

test('a backendRef leads to an origin that has no address of its own', async () => {
  tokenOrigin = UNRESOLVED
  const backendRef = { group: API_GROUP, kind: 'ProxyBackend', name: 'tokens', port: tokens.port }
  const restarted = await startStack({
    resources: (port) => resources(port, { origin: UNRESOLVED, backendRef }),
  })
  try {
    await providerFetched(restarted)
    const run = await ts2(`${restarted.origin}/mcp`, 'alice', consenting)
    expect(run.echo).toBe('Echo: hi')
    expect(asked).toEqual([new URL(UNRESOLVED).host])
  } finally {
    await restarted.close()
  }
})
