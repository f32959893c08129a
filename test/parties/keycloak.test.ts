// Keycloak, a third-party product, as the identity provider: tokens, groups, key rotation, rejected registration.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type McpServer, startMcpServer } from '../../src/cli/demo/mcp-server.js'
import { eventually } from '../../testing/eventually.js'
import { expectInMatrix } from '../support/clients/matrix.js'
import { ts1 } from '../support/clients/ts1.js'
import { ts2 } from '../support/clients/ts2.js'
import { type Answer, bearer, initialize, send } from '../support/http.js'
import {
  allow,
  gateway,
  httpRoute,
  proxyBackend,
  proxyPolicy,
  remoteJwks,
  rule,
} from '../support/resources.js'
import { type Stack, startStack } from '../support/stack.js'
import { visitForm } from './support/form-login.js'
import { type Keycloak, startKeycloak } from './support/keycloak.js'
import { CLIENT_ID } from './support/keycloak-realm.js'

const START_MS = 400_000
/** Keycloak's refusal of anonymous registration; the policy that it names varies. */
const REFUSAL = /Policy '.+' rejected request to client-registration service/

let keycloak: Keycloak
let server: McpServer
let stack: Stack

const policy = (name: string, port: number, mcp: object): object =>
  proxyPolicy(name, name, {
    jwtAuthentication: {
      providers: [
        {
          issuer: keycloak.issuer,
          audiences: [CLIENT_ID],
          jwks: remoteJwks('keycloak', keycloak.port, keycloak.jwksPath),
        },
      ],
      mcp: {
        ...mcp,
        resourceMetadata: {
          resource: `http://127.0.0.1:${String(port)}/${name}`,
          scopesSupported: ['openid'],
        },
      },
    },
    authorization: allow('"mcp-users" in jwt.groups'),
  })

/** The server knows its own path only, /mcp. */
function route(name: string): object {
  const filter = {
    type: 'URLRewrite',
    urlRewrite: { path: { type: 'ReplacePrefixMatch', replacePrefixMatch: '/mcp' } },
  }
  return httpRoute(name, {
    rules: [
      rule(`/${name}`, 'server', { filters: [filter] }),
      rule(`/.well-known/oauth-protected-resource/${name}`, 'server'),
      rule(`/.well-known/oauth-authorization-server/${name}`, 'server'),
    ],
  })
}

/** One MCP server behind three policies: any provider's, one with a registered client, and that with the issuer of Gatehouse. */
const resources = (port: number): readonly object[] => [
  gateway([port]),
  proxyBackend('server', server),
  proxyBackend('keycloak', keycloak),
  route('plain'),
  policy('plain', port, {}),
  route('registered'),
  policy('registered', port, { provider: 'IdpOne', clientId: CLIENT_ID }),
  route('renamed'),
  policy('renamed', port, {
    provider: 'IdpOne',
    clientId: CLIENT_ID,
    metadataIssuer: 'Gateway',
  }),
]

const call = (path: string, token: string): Promise<Answer> =>
  send(stack.origin, path, {
    ...initialize,
    headers: {
      ...bearer(token),
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
  })

async function conditionText(name: string): Promise<string> {
  const entries = await stack.status()
  const entry = entries.find((one) => one.kind === 'ProxyPolicy' && one.name === name)
  return (entry?.conditions ?? []).map(({ message }) => message).join(' ')
}

beforeAll(async () => {
  const started = await Promise.all([startKeycloak(), startMcpServer()])
  ;[keycloak, server] = started
  stack = await startStack({ resources })
  await eventually(async () => {
    expect((await send(stack.origin, '/plain', initialize)).status).toBe(401)
  })
}, START_MS)

afterAll(async () => {
  await stack.close()
  await server.close()
  await keycloak.close()
})

describe('a token of Keycloak', () => {
  test.each(['/plain', '/registered'])('is accepted at %s', async (path) => {
    const answer = await call(path, await keycloak.token('alice'))
    expect([answer.status, answer.body]).toEqual([
      200,
      expect.stringContaining('"protocolVersion"') as string,
    ])
  })

  test('of a user outside the group is refused with 403', async () => {
    expect((await call('/plain', await keycloak.token('bob'))).status).toBe(403)
  })
})

describe('the key set of Keycloak', () => {
  test('has an encryption key, which is skipped and named in the status', async () => {
    const url = new URL(keycloak.jwksPath, keycloak.issuer)
    const { keys } = (await (await fetch(url)).json()) as { keys: { kid: string; use: string }[] }
    const encryption = keys.find(({ use }) => use === 'enc')
    expect(encryption).toBeDefined()
    expect(await conditionText('plain')).toMatch(
      new RegExp(`${encryption?.kid ?? ''}\\S* .*its "use" is not "sig"`),
    )
  })

  test('rotates: the new key counts at once, the old one until it is gone, both without a restart', async () => {
    const old = await keycloak.token('alice')
    const oldKey = await keycloak.firstKey()
    await keycloak.addKey(200)
    const next = await keycloak.token('alice')
    expect(kidOf(next)).not.toBe(kidOf(old))
    await eventually(async () => expect((await call('/plain', next)).status).toBe(200), 12_000)
    expect((await call('/plain', old)).status).toBe(200)

    await keycloak.disableKey(oldKey)
    await keycloak.addKey(300)
    const last = await keycloak.token('alice')
    await eventually(async () => expect((await call('/plain', last)).status).toBe(200), 12_000)
    await eventually(async () => expect((await call('/plain', old)).status).toBe(401), 2_000)
    expect((await call('/plain', next)).status).toBe(200)
  })
})

function kidOf(token: string): string {
  const header = Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()
  return (JSON.parse(header) as { kid: string }).kid
}

describe('registration', () => {
  test("without a configured client is sent to Keycloak, whose refusal is the client's answer", async () => {
    const path = '/.well-known/oauth-authorization-server/plain/client-registration'
    const answer = await send(stack.origin, path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ client_name: 'test', redirect_uris: ['http://127.0.0.1:9/cb'] }),
    })
    expect(answer.status).toBe(403)
    expect(answer.headers['content-type']).toContain('application/json')
    expect(JSON.parse(answer.body)).toMatchObject({
      error_description: expect.stringMatching(REFUSAL) as string,
    })
  })

  test('is refused, and the official client reports in what words', async () => {
    await expect(ts1(`${stack.origin}/plain`, 'alice', visitForm)).rejects.toThrow(REFUSAL)
  })
})

describe('the official client', () => {
  test("1.x logs in by Keycloak's own login form and calls a tool", async () => {
    const run = await ts1(`${stack.origin}/registered`, 'alice', visitForm)
    expect(run.tools).toContain('echo')
    expect(run.echo).toBe('Echo: hi')
    expectInMatrix('ts1', 'Keycloak', 'Gateway')
  })

  test('2.x cannot, as Keycloak names itself in its authorization response; the status says so', async () => {
    await expect(ts2(`${stack.origin}/renamed`, 'alice', visitForm)).rejects.toThrow(
      /Issuer mismatch in authorization response/i,
    )
    for (const name of ['plain', 'registered', 'renamed']) {
      expect(await conditionText(name)).toMatch(/RFC 9207/)
    }
    expectInMatrix('ts2', 'Keycloak', 'Gateway', '`IssuerMismatchError`')
  })
})
