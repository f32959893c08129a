// A relay whose resource is an origin without a path: its documents and endpoints are directly below the well-known
// roots, and an official client logs in there.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { type McpServer, startMcpServer } from '../../src/cli/demo/mcp-server.js'
import { ts2 } from '../support/clients/ts2.js'
import { idpOne, startTestIdp, type TestIdp } from '../support/identity-provider.js'
import { consenting, providerFetched, relayPolicy } from '../support/relay-stack.js'
import { gateway, httpRoute, proxyBackend, rule } from '../support/resources.js'
import { type Stack, startStack } from '../support/stack.js'

const AS = '/.well-known/oauth-authorization-server'

let stack: Stack
let idp: TestIdp
let server: McpServer

beforeAll(async () => {
  server = await startMcpServer()
  idp = await startTestIdp(idpOne, { sendIss: true })
  stack = await startStack({
    resources: (port) => [
      gateway([port]),
      proxyBackend('everything', server),
      proxyBackend('idp', idp),
      httpRoute('mcp', { rules: [rule('/', 'everything')] }),
      relayPolicy(idp, `http://127.0.0.1:${String(port)}`, undefined),
    ],
  })
  await providerFetched(stack)
})

afterAll(async () => {
  await stack.close()
  await Promise.all([server.close(), idp.close()])
})

test('a client registers, logs in and calls a tool', async () => {
  const run = await ts2(`${stack.origin}/mcp`, 'alice', consenting)
  expect(run.echo).toBe('Echo: hi')
  expect(run.calls).toEqual(
    expect.arrayContaining([
      'GET /.well-known/oauth-protected-resource 200',
      `GET ${AS} 200`,
      `POST ${AS}/client-registration 201`,
      `POST ${AS}/token 200`,
    ]),
  )
})

test('its metadata names the origin as issuer, and the endpoints', async () => {
  const document = await (await fetch(stack.origin + AS)).json()
  expect(document).toMatchObject({
    issuer: stack.origin,
    authorization_endpoint: `${stack.origin}${AS}/authorize`,
    token_endpoint: `${stack.origin}${AS}/token`,
    registration_endpoint: `${stack.origin}${AS}/client-registration`,
    authorization_response_iss_parameter_supported: true,
  })
  const resource = await fetch(`${stack.origin}/.well-known/oauth-protected-resource`)
  expect(await resource.json()).toMatchObject({
    resource: stack.origin,
    authorization_servers: [stack.origin],
  })
})

test('its resource is the one that clients write with a slash', async () => {
  const redirectUri = 'http://127.0.0.1:4711/cb'
  const registration = await fetch(`${stack.origin}${AS}/client-registration`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: [redirectUri] }),
  })
  const { client_id: client } = (await registration.json()) as { client_id: string }
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: client,
    redirect_uri: redirectUri,
    code_challenge: 'A'.repeat(43),
    code_challenge_method: 'S256',
    resource: `${stack.origin}/`,
  })
  const page = await fetch(`${stack.origin}${AS}/authorize?${query.toString()}`, {
    redirect: 'manual',
  })
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<form')])
  const errorOf = async (resource: string): Promise<unknown> => {
    const form = { grant_type: 'refresh_token', client_id: client, refresh_token: 'x', resource }
    const body = new URLSearchParams(form)
    const answer = await fetch(`${stack.origin}${AS}/token`, { method: 'POST', body })
    return ((await answer.json()) as { error: unknown }).error
  }
  expect(await errorOf(`${stack.origin}/`)).toBe('invalid_grant')
  expect(await errorOf(`${stack.origin}/other`)).toBe('invalid_target')
})
