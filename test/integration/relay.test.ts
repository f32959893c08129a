// authorizationServer Relay through a real Envoy: the official clients register, log in and call a tool, at a provider that
// sends iss (RFC 9207) and knows one client with one redirect URI.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import type { McpClient } from '../support/clients/client-run.js'
import { type CookieJar, walk } from '../support/clients/consenting-agent.js'
import { python } from '../support/clients/python.js'
import { ts1 } from '../support/clients/ts1.js'
import { ts2 } from '../support/clients/ts2.js'
import { send } from '../support/http.js'
import { AS, consenting, type RelayStack, startRelayStack } from '../support/relay-stack.js'

const CLIENTS: Record<string, McpClient> = { ts1, ts2, python }

let world: RelayStack

beforeAll(async () => {
  world = await startRelayStack({ own: true })
})

afterAll(() => world.close())

test.each(Object.entries(CLIENTS))('%s registers, logs in and calls a tool', async (_, client) => {
  const run = await client(world.url, 'alice', consenting)
  expect(run.echo).toBe('Echo: hi')
  expect(run.calls.slice(0, 4)).toEqual([
    'POST /mcp 401',
    'GET /.well-known/oauth-protected-resource/mcp 200',
    `GET ${AS} 200`,
    `POST ${AS}/client-registration 201`,
  ])
  expect(run.calls).toContain(`POST ${AS}/token 200`)
})

test('consent is remembered by the browser, beside the cookie of the login', async () => {
  const cookies: CookieJar = new Map()
  const consented: number[] = []
  const agent = async (authorization: URL): Promise<URL> => {
    const { end, steps } = await walk(authorization, { cookies })
    consented.push(steps.filter(({ method }) => method === 'POST').length)
    // The same client again, as after its tokens have expired.
    if (consented.length === 1) await agent(authorization)
    return end
  }
  expect((await ts2(world.url, 'alice', agent)).echo).toBe('Echo: hi')
  expect(consented).toEqual([1, 0])
})

test('the decision log has the logins that fail, and why', async () => {
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const asked = await send(world.stack.origin, `${AS}/token`, {
    method: 'POST',
    headers: form,
    body: 'grant_type=authorization_code&client_id=nobody&code=secret-code',
  })
  expect(asked.status).toBe(401)
  await send(world.stack.origin, `${AS}/authorize?client_id=nobody&state=secret-state`)
  const lines = await eventually(() => {
    const found = world.stack
      .log()
      .split('\n')
      .filter((line) => line.includes('login answer'))
    expect(found).toHaveLength(2)
    return found.map((line) => JSON.parse(line) as Record<string, unknown>)
  })
  expect(lines[0]).toMatchObject({
    decision: 'deny',
    reason: 'relay_token',
    error: 'invalid_client',
    status: 401,
    endpoint: 'token',
    route: 'default/mcp',
    policy: 'default/mcp',
    path: `${AS}/token`,
    requestId: asked.headers['x-request-id'],
  })
  expect(lines[1]).toMatchObject({ reason: 'relay_refused', endpoint: 'authorize', status: 400 })
  expect(JSON.stringify(lines)).not.toContain('secret-')
})

describe('the metadata', () => {
  test("has the gateway's own endpoints, and none of the provider's", async () => {
    const { status, body } = await send(world.stack.origin, AS)
    const base = world.stack.origin + AS
    expect([status, JSON.parse(body)]).toEqual([
      200,
      {
        issuer: world.url,
        authorization_endpoint: `${base}/authorize`,
        token_endpoint: `${base}/token`,
        registration_endpoint: `${base}/client-registration`,
        response_types_supported: ['code'],
        response_modes_supported: ['query'],
        grant_types_supported: ['authorization_code', 'refresh_token'],
        token_endpoint_auth_methods_supported: ['none'],
        code_challenge_methods_supported: ['S256'],
        authorization_response_iss_parameter_supported: true,
        scopes_supported: ['openid', 'profile'],
      },
    ])
  })
})
