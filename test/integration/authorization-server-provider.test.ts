// authorizationServer Provider: the official clients discover, register and log in at the provider itself, which sends iss
// with its codes (RFC 9207), and call a tool through the gateway.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type McpServer, startMcpServer } from '../../src/cli/demo/mcp-server.js'
import type { McpClient } from '../support/clients/client-run.js'
import { python } from '../support/clients/python.js'
import { ts1 } from '../support/clients/ts1.js'
import { ts2 } from '../support/clients/ts2.js'
import { initialize, send } from '../support/http.js'
import { idpTwo, startTestIdp, type TestIdp } from '../support/identity-provider.js'
import {
  allow,
  gateway,
  mcpRoute,
  proxyBackend,
  proxyPolicy,
  remoteJwks,
} from '../support/resources.js'
import { type Stack, startStack } from '../support/stack.js'

const CLIENTS: Record<string, McpClient> = { ts1, ts2, python }
const PRM = '/.well-known/oauth-protected-resource/mcp'

let server: McpServer
let idp: TestIdp
let stack: Stack

beforeAll(async () => {
  ;[server, idp] = await Promise.all([
    startMcpServer(),
    startTestIdp(idpTwo, { sendIss: true, openRegistration: true }),
  ])
  stack = await startStack({
    flags: ['--mcp-protocol-version', '2026-07-28'],
    resources: (port) => [
      gateway([port]),
      proxyBackend('everything', server),
      proxyBackend('idp', idp),
      mcpRoute('mcp', 'everything'),
      policy(`http://127.0.0.1:${String(port)}/mcp`),
    ],
  })
})

afterAll(async () => {
  await stack.close()
  await Promise.all([server.close(), idp.close()])
})

const policy = (resource: string): object =>
  proxyPolicy('mcp', 'mcp', {
    jwtAuthentication: {
      providers: [{ issuer: idp.issuer, audiences: [resource], jwks: remoteJwks('idp', idp.port) }],
      mcp: {
        provider: 'IdpTwo',
        authorizationServer: 'Provider',
        allowedOrigins: ['https://app.example'],
        resourceMetadata: { resource, scopesSupported: ['openid', 'profile'] },
      },
    },
    authorization: allow('"mcp-users" in jwt.roles'),
  })

test.each(Object.entries(CLIENTS))('%s registers and logs in there', async (_name, client) => {
  const run = await client(`${stack.origin}/mcp`, 'alice')
  expect(run.echo).toBe('Echo: hi')
  expect(run.calls.slice(0, 2)).toEqual([`POST /mcp 401`, `GET ${PRM} 200`])
  expect(run.calls.filter((call) => call.includes('oauth-authorization-server'))).toEqual([])
})

test('the resource metadata names the issuer, and the version of the setting', async () => {
  const { body } = await send(stack.origin, PRM)
  expect(JSON.parse(body)).toMatchObject({
    authorization_servers: [idp.issuer],
    mcp_protocol_version: '2026-07-28',
  })
})

test("the gateway's own metadata stays, for clients that look for it there", async () => {
  const { status, body } = await send(stack.origin, '/.well-known/oauth-authorization-server/mcp')
  expect([status, JSON.parse(body)]).toMatchObject([200, { issuer: idp.issuer }])
})

describe('a page', () => {
  const call = (...origins: readonly string[]) =>
    send(stack.origin, '/mcp', {
      ...initialize,
      headers: { 'content-type': 'application/json', origin: origins.join(', ') },
    })

  test('of an allowed origin is asked for a token', async () => {
    expect((await call('https://app.example')).status).toBe(401)
  })

  test.each(['https://evil.example', 'null', 'https://app.example:8443', 'http://app.example'])(
    'of the origin %s is refused with 403, before any token is looked at',
    async (origin) => {
      const answer = await call(origin)
      expect(answer.status).toBe(403)
      expect(answer.headers['www-authenticate']).toBeUndefined()
      expect(JSON.parse(answer.body)).toMatchObject({ error: 'forbidden' })
    },
  )
})
