// Client registration: answered from the policy, forwarded to the provider, or rejected, for each kind of provider.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Answer, send } from '../support/http.js'
import { AS, FULL_ROW, type McpStack, PAGE, startMcpStack } from '../support/mcp-stack.js'

let stack: McpStack

beforeAll(async () => {
  stack = await startMcpStack({
    '/one': FULL_ROW,
    '/one-without-client': { provider: 'IdpOne', resource: true },
    '/two': { provider: 'IdpTwo', clientId: 'public-client', resource: true },
    '/two-proxied': { provider: 'IdpTwo', resource: true },
    '/plain': { clientId: 'public-client', resource: true },
    '/plain-proxied': { resource: true },
  })
})
afterAll(() => stack.close())
beforeEach(() => stack.reset())

const parse = (answer: Answer): Record<string, unknown> =>
  JSON.parse(answer.body) as Record<string, unknown>

const register = (path: string, body: object | string): Promise<Answer> =>
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
    expect(stack.idp.requests.map(({ path }) => path)).toContain(
      '/v1/mgmt/mcp/client/P1/S1/register',
    )
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
