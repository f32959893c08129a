// What a client without a token gets: the challenge and the documents that it points to, for each kind of provider.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Answer, bearer, initialize, send } from '../support/http.js'
import { AS, FULL_ROW, type McpStack, PRM, startMcpStack } from '../support/mcp-stack.js'
import { signToken } from '../support/tokens.js'

const ROWS = {
  '/one': FULL_ROW,
  '/two': { provider: 'IdpTwo', clientId: 'public-client', resource: true },
  '/plain': { clientId: 'public-client', resource: true },
  '/computed': { provider: 'IdpOne', clientId: 'public-client' },
  '/detailed': { ...FULL_ROW, challengeDetails: true },
  '/no-provider': { ...FULL_ROW, down: true },
} as const

let stack: McpStack

beforeAll(async () => {
  stack = await startMcpStack(ROWS)
})
afterAll(() => stack.close())
beforeEach(() => stack.reset())

const parse = (answer: Answer): Record<string, unknown> =>
  JSON.parse(answer.body) as Record<string, unknown>

describe('the challenge', () => {
  test('is exactly the one of the specification', async () => {
    const answer = await send(stack.origin, '/one', initialize)
    expect(answer.status).toBe(401)
    expect(answer.headers['www-authenticate']).toBe(
      `Bearer resource_metadata="${stack.origin}${PRM}/one"`,
    )
    expect(answer.headers['content-type']).toBe('application/json')
    expect(parse(answer)['error_description']).toMatch(/^Unauthorized: /)
    expect(stack.backend.requests).toEqual([])
  })

  test('is the same for a bad token as for none, unless configured otherwise', async () => {
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
  test('is that of the policy, and leads to the gateway', async () => {
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
      headers: bearer(await signToken({ key: stack.key, claims: { iss: 'x' } })),
    })
    expect(answer.status).toBe(503)
    expect(answer.headers['retry-after']).toBeDefined()
    expect(stack.backend.requests).toEqual([])
  })
})

describe('server metadata', () => {
  test.each(['/one', '/two', '/plain'] as const)(
    'of %s is the document of the provider, adapted',
    async (path) => {
      const answer = await send(stack.origin, AS + path)
      const wanted = stack.discovery(stack.issuerOf(ROWS[path]))
      expect(parse(answer)).toEqual({
        ...wanted,
        client_id_metadata_document_supported: undefined,
        registration_endpoint: `${stack.origin}${AS}${path}/client-registration`,
        code_challenge_methods_supported: ['S256'],
      })
    },
  )
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
    expect(stack.backend.requests).toEqual([])
  })
})
