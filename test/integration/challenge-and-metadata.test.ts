// What a client without a token meets: the challenge, the documents, registration, and CORS on all of them, for each kind of provider.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startBackend, type Backend } from '../support/backend.js'
import { json, startDocumentServer, type DocumentServer } from '../support/document-server.js'
import { eventually } from '../support/eventually.js'
import { bearer, initialize, send, type Answer } from '../support/http.js'
import {
  gateway,
  mcpRoute,
  proxyBackend,
  proxyPolicy,
  remoteJwks,
  type Document,
} from '../support/resources.js'
import { startStack, type Stack } from '../support/stack.js'
import { keySet, newKey, signToken, type SigningKey } from '../support/tokens.js'

const PRM = '/.well-known/oauth-protected-resource'
const AS = '/.well-known/oauth-authorization-server'
const PAGE = 'http://app.example:6274'
const FULL_ROW = { clientId: 'public-client', resource: true, provider: 'IdpOne' }

/** By MCP path: what its policy says. */
const ROWS = {
  '/one': FULL_ROW,
  '/one-without-client': { provider: 'IdpOne', resource: true },
  '/two': { provider: 'IdpTwo', clientId: 'public-client', resource: true },
  '/two-proxied': { provider: 'IdpTwo', resource: true },
  '/plain': { clientId: 'public-client', resource: true },
  '/plain-proxied': { resource: true },
  '/computed': { provider: 'IdpOne', clientId: 'public-client' },
  '/detailed': { ...FULL_ROW, challengeDetails: true },
  '/as-written': { ...FULL_ROW, corsHeaders: 'AsWritten' },
  '/no-provider': { ...FULL_ROW, down: true },
} as const

type Path = keyof typeof ROWS
type Row = {
  readonly provider?: string
  readonly clientId?: string
  readonly resource?: boolean
  readonly challengeDetails?: boolean
  readonly corsHeaders?: string
  readonly down?: boolean
}

let backend: Backend
let idp: DocumentServer
let down: DocumentServer
let key: SigningKey
let stack: Stack

const issuerOf = ({ provider, down: isDown }: Row): string => {
  const { origin } = isDown === true ? down : idp
  if (provider === 'IdpOne') return `${origin}/application/o/mcp/`
  return provider === 'IdpTwo' ? `${origin}/v1/apps/agentic/P1/S1` : `${origin}/plain`
}

function discovery(issuer: string): object {
  const base = issuer.replace(/\/$/, '')
  return {
    issuer,
    jwks_uri: `${idp.origin}/keys`,
    authorization_endpoint: `${base}/authorize`,
    token_endpoint: `${base}/token`,
    response_types_supported: ['code'],
    client_id_metadata_document_supported: true,
    'x-own-field': { kept: [1, null, 'as it is'] },
  }
}

function resourcesOf(path: string, row: Row, port: number): Document[] {
  const name = path.slice(1)
  const { provider, resource, down: isDown, ...mcp } = row
  const idpName = isDown === true ? 'down' : 'idp'
  const jwks = remoteJwks(idpName, isDown === true ? down.port : idp.port, '/keys')
  const policy = proxyPolicy(name, name, {
    jwtAuthentication: {
      mode: 'Strict',
      providers: [{ issuer: issuerOf(row), audiences: ['api'], jwks }],
      mcp: {
        ...(provider !== undefined && { provider }),
        ...mcp,
        resourceMetadata: {
          ...(resource === true && { resource: `http://127.0.0.1:${String(port)}${path}` }),
          scopesSupported: ['openid', 'profile'],
          bearerMethodsSupported: ['header'],
        },
      },
    },
  })
  return [mcpRoute(name, 'backend', path), policy]
}

beforeAll(async () => {
  ;[backend, idp, down, key] = await Promise.all([
    startBackend(),
    startDocumentServer(),
    startDocumentServer(),
    newKey('k1'),
  ])
  idp.serve('/keys', keySet(key))
  for (const issuer of ['/application/o/mcp/', '/v1/apps/agentic/P1/S1']) {
    const path = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
    idp.serve(path, discovery(idp.origin + issuer))
  }
  idp.serve(`${AS}/plain`, {
    ...discovery(`${idp.origin}/plain`),
    registration_endpoint: `${idp.origin}/register`,
  })
  idp.serve('/register', json({ client_id: 'registered-there', redirect_uris: ['x:/y'] }, 201))
  idp.serve('/v1/mgmt/mcp/client/P1/S1/register', json({ error: 'invalid_token' }, 401))
  await down.close()
  stack = await startStack({
    resources: (port) => [
      gateway([port]),
      proxyBackend('backend', backend),
      proxyBackend('idp', idp),
      proxyBackend('down', down),
      ...Object.entries(ROWS).flatMap(([path, row]) => resourcesOf(path, row, port)),
    ],
  })
  await eventually(async () => {
    expect((await send(stack.origin, `${AS}/two`)).status).toBe(200)
    expect((await send(stack.origin, `${AS}/one`)).status).toBe(200)
    expect((await send(stack.origin, `${AS}/plain`)).status).toBe(200)
  })
})

afterAll(async () => {
  await stack.close()
  await Promise.all([backend.close(), idp.close()])
})

beforeEach(() => {
  backend.requests.length = 0
  backend.answer((_request, response) => response.writeHead(200).end('backend'))
})

const parse = (answer: Answer): Record<string, unknown> =>
  JSON.parse(answer.body) as Record<string, unknown>

const register = (path: Path, body: object | string): Promise<Answer> =>
  send(stack.origin, `${AS}${path}/client-registration`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: PAGE },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })

const CLIENT = {
  client_name: 'test',
  redirect_uris: ['http://127.0.0.1:6274/cb'],
  application_type: 'native',
}

describe('the challenge', () => {
  test('is exactly the one of the specification', async () => {
    const answer = await send(stack.origin, '/one', initialize)
    expect(answer.status).toBe(401)
    expect(answer.headers['www-authenticate']).toBe(
      `Bearer resource_metadata="${stack.origin}${PRM}/one"`,
    )
    expect(answer.headers['content-type']).toBe('application/json')
    expect(parse(answer)['error_description']).toMatch(/^Unauthorized: /)
    expect(backend.requests).toEqual([])
  })

  test('says no more about a bad token than about none, unless asked to', async () => {
    const bad = { ...initialize, headers: bearer('eyJhbGciOiJub25lIn0.e30.') }
    const plain = await send(stack.origin, '/one', bad)
    expect(plain.headers['www-authenticate']).not.toContain('error=')
    const detailed = await send(stack.origin, '/detailed', bad)
    expect(detailed.headers['www-authenticate']).toMatch(
      /^Bearer resource_metadata="[^"]+", error="invalid_token", /,
    )
    expect(detailed.headers['www-authenticate']).toContain('scope="openid profile"')
  })

  test('names the host that was asked when no resource is configured', async () => {
    const headers = { host: 'gw.example:8080', 'x-forwarded-proto': 'https' }
    const answer = await send(stack.origin, '/computed', { ...initialize, headers })
    expect(answer.headers['www-authenticate']).toBe(
      `Bearer resource_metadata="http://gw.example:8080${PRM}/computed"`,
    )
  })
})

describe('resource metadata', () => {
  test('is what the policy says, and leads to the gateway', async () => {
    const answer = await send(stack.origin, `${PRM}/one`)
    expect(answer.status).toBe(200)
    expect(answer.headers['content-type']).toBe('application/json')
    expect(parse(answer)).toEqual({
      resource: `${stack.origin}/one`,
      authorization_servers: [`${stack.origin}/one`],
      mcp_protocol_version: expect.any(String) as string,
      resource_type: 'mcp-server',
      bearer_methods_supported: ['header'],
      scopes_supported: ['openid', 'profile'],
    })
  })

  test('does not need the provider; server metadata and the route itself do', async () => {
    expect((await send(stack.origin, `${PRM}/no-provider`)).status).toBe(200)
    expect((await send(stack.origin, `${AS}/no-provider`)).status).toBe(503)
    const answer = await send(stack.origin, '/no-provider', {
      ...initialize,
      headers: bearer(await signToken({ key, claims: { iss: 'x' } })),
    })
    expect(answer.status).toBe(503)
    expect(answer.headers['retry-after']).toBeDefined()
    expect(backend.requests).toEqual([])
  })
})

describe('server metadata', () => {
  test.each(['/one', '/two', '/plain'] as const)(
    'of %s is the document of the provider, adapted',
    async (path) => {
      const answer = await send(stack.origin, AS + path)
      const wanted = discovery(issuerOf(ROWS[path]))
      expect(parse(answer)).toEqual({
        ...wanted,
        client_id_metadata_document_supported: undefined,
        registration_endpoint: `${stack.origin}${AS}${path}/client-registration`,
        code_challenge_methods_supported: ['S256'],
      })
    },
  )
})

describe('registration', () => {
  test.each(['/one', '/two', '/plain'] as const)('at %s is answered', async (path) => {
    const answer = await register(path, CLIENT)
    expect(answer.status).toBe(201)
    expect(parse(answer)).toEqual({
      client_id: 'public-client',
      client_id_issued_at: expect.any(Number) as number,
      client_name: 'test',
      redirect_uris: CLIENT.redirect_uris,
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    })
  })

  test('without clientId is passed to the provider, with its answer', async () => {
    const own = await register('/plain-proxied', CLIENT)
    expect([own.status, parse(own)['client_id']]).toEqual([201, 'registered-there'])
    const refused = await register('/two-proxied', CLIENT)
    expect([refused.status, parse(refused)['error']]).toEqual([401, 'invalid_token'])
    expect(idp.requests.map(({ path }) => path)).toContain('/v1/mgmt/mcp/client/P1/S1/register')
  })

  test('without clientId fails at IdpOne, in words that a client shows', async () => {
    const answer = await register('/one-without-client', CLIENT)
    expect(answer.status).toBe(501)
    expect(parse(answer)['error_description']).toContain('clientId')
    const status = (await stack.status()).find(({ name }) => name === 'one-without-client')
    expect(status?.conditions).toBeDefined()
  })

  test.each([
    ['not JSON', '{', 400],
    ['no object', '[]', 400],
    ['no redirect_uris', { client_name: 'x' }, 400],
    ['a relative redirect URI', { redirect_uris: ['/cb'] }, 400],
    ['a redirect URI with a fragment', { redirect_uris: ['http://127.0.0.1/cb#x'] }, 400],
    ['too much', { ...CLIENT, pad: 'x'.repeat(70_000) }, 413],
  ])('of %s is refused', async (_title, body, status) => {
    const answer = await register('/one', body)
    expect(answer.status).toBe(status)
    expect(answer.headers['access-control-allow-origin']).toBe(PAGE)
  })
})

describe('methods', () => {
  test.each([
    ['POST', `${PRM}/one`, 405, 'GET, HEAD'],
    ['PUT', `${AS}/one`, 405, 'GET, HEAD'],
    ['GET', `${AS}/one/client-registration`, 405, 'POST'],
    ['GET', `${PRM}/one/x`, 404, undefined],
    ['POST', `${AS}/one/client-registration/x`, 404, undefined],
    ['GET', `${PRM}/onex`, 404, undefined],
  ])('%s %s: %i', async (method, path, status, allow) => {
    const answer = await send(stack.origin, path, { method })
    expect([answer.status, answer.headers.allow]).toEqual([status, allow])
    expect(backend.requests).toEqual([])
  })
})

describe('CORS', () => {
  const preflight = (path: string, headers: string): Promise<Answer> =>
    send(stack.origin, path, {
      method: 'OPTIONS',
      headers: {
        origin: PAGE,
        'access-control-request-method': 'POST',
        'access-control-request-headers': headers,
      },
    })

  test.each(['/one', `${PRM}/one`, `${AS}/one`, `${AS}/one/client-registration`, '/no-provider'])(
    'a preflight of %s is answered before anything else',
    async (path) => {
      const answer = await preflight(path, 'authorization,mcp-session-id,mcp-protocol-version')
      expect(answer.status).toBeLessThan(300)
      expect(answer.headers['access-control-allow-origin']).toBe(PAGE)
      expect(answer.headers['access-control-max-age']).toBe('86400')
      const allowed = answer.headers['access-control-allow-headers']?.toLowerCase() ?? ''
      for (const name of [
        'authorization',
        'content-type',
        'mcp-session-id',
        'mcp-protocol-version',
      ])
        expect(allowed).toContain(name)
      expect(backend.requests).toEqual([])
    },
  )

  test('AsWritten adds nothing to what the route says', async () => {
    const { headers } = await preflight('/as-written', 'authorization')
    expect(headers['access-control-allow-headers']?.toLowerCase()).not.toContain('mcp-session-id')
  })

  test.each([
    ['POST', '/one', 401],
    ['GET', `${PRM}/one`, 200],
    ['GET', `${AS}/one`, 200],
    ['GET', `${AS}/no-provider`, 503],
    ['DELETE', `${AS}/one`, 405],
    ['GET', `${AS}/one/x`, 404],
  ])('%s %s (%i) can be read by a page', async (method, path, status) => {
    const answer = await send(stack.origin, path, { method, headers: { origin: PAGE } })
    expect(answer.status).toBe(status)
    expect(answer.headers['access-control-allow-origin']).toBe(PAGE)
    expect(answer.headers['access-control-expose-headers']).toContain('WWW-Authenticate')
  })

  test("replaces the backend's own headers, never doubles them", async () => {
    backend.answer((_request, response) => {
      response.writeHead(200, {
        'access-control-allow-origin': '*',
        'access-control-allow-methods': 'TRACE',
        'access-control-expose-headers': 'X-Backend',
      })
      response.end()
    })
    const claims = { iss: issuerOf(FULL_ROW), aud: 'api' }
    const headers = { origin: PAGE, ...bearer(await signToken({ key, claims })) }
    const answer = await send(stack.origin, '/one', { ...initialize, headers })
    expect(answer.status).toBe(200)
    const names = answer.rawHeaders.filter((_, index) => index % 2 === 0)
    expect(names.filter((name) => name === 'access-control-allow-origin')).toHaveLength(1)
    expect(answer.headers['access-control-allow-origin']).toBe(PAGE)
    expect(answer.headers['access-control-allow-methods']).toBeUndefined()
    expect(answer.headers['access-control-expose-headers']).not.toContain('X-Backend')
  })
})
