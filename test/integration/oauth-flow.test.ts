// The official clients log in through the gateway and call a tool, with both identity providers; and their failures
// when access is denied.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type McpServer, startMcpServer } from '../../src/cli/demo/mcp-server.js'
import { ClientFailure, type McpClient } from '../support/clients/client-run.js'
import { expectInMatrix } from '../support/clients/matrix.js'
import { python } from '../support/clients/python.js'
import { ts1 } from '../support/clients/ts1.js'
import { ts2 } from '../support/clients/ts2.js'
import { bearer, initialize, send } from '../support/http.js'
import {
  CLIENT_ID,
  idpOne,
  idpTwo,
  SERVICE_ACCOUNT,
  startTestIdp,
  type TestIdp,
} from '../support/identity-provider.js'
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

let server: McpServer
let one: TestIdp
let two: TestIdp
let stack: Stack

beforeAll(async () => {
  ;[server, one, two] = await Promise.all([
    startMcpServer(),
    startTestIdp(idpOne),
    startTestIdp(idpTwo),
  ])
  stack = await startStack({
    resources: (port) => [
      gateway([port]),
      proxyBackend('everything', server),
      proxyBackend('idp-one', one),
      proxyBackend('idp-two', two),
      ...Object.values(MCP_PATHS).flatMap((path) => routeAndPolicy(port, path)),
    ],
  })
})

afterAll(async () => {
  await stack.close()
  await Promise.all([server.close(), one.close(), two.close()])
})

/** One MCP route each; all of them lead to the same server, whose path is /mcp. */
const MCP_PATHS = {
  one: '/one',
  two: '/two',
  oneAsProvider: '/one-as-provider',
  twoUnregistered: '/two-unregistered',
} as const

function routeAndPolicy(port: number, path: string): object[] {
  const name = path.slice(1)
  const isOne = name.startsWith('one')
  const idp = isOne ? one : two
  const resource = `http://127.0.0.1:${String(port)}${path}`
  const route = mcpRoute(name, 'everything', path)
  const policy = proxyPolicy(name, name, {
    jwtAuthentication: {
      mode: 'Strict',
      providers: [
        {
          issuer: idp.issuer,
          audiences: isOne ? [CLIENT_ID, SERVICE_ACCOUNT.clientId] : [resource],
          jwks: isOne
            ? remoteJwks('idp-one', idp.port, idp.jwksPath)
            : remoteJwks('idp-two', idp.port),
        },
      ],
      mcp: {
        provider: isOne ? 'IdpOne' : 'IdpTwo',
        ...(name !== 'two-unregistered' && { clientId: CLIENT_ID }),
        metadataIssuer: name === 'one-as-provider' ? 'Provider' : 'Gateway',
        resourceMetadata: {
          resource,
          scopesSupported: ['openid', 'profile', 'email'],
          bearerMethodsSupported: ['header'],
        },
      },
    },
    authorization: allow(isOne ? '"mcp-users" in jwt.groups' : '"mcp-users" in jwt.roles'),
  })
  return [withServerPath(route), policy]
}

/** The server knows /mcp alone. */
function withServerPath(route: object): object {
  const { spec, ...rest } = route as { spec: { rules: { filters: object[] }[] } }
  const urlRewrite = { path: { type: 'ReplacePrefixMatch', replacePrefixMatch: '/mcp' } }
  const rules = spec.rules.map((rule) => ({
    ...rule,
    filters: [...rule.filters, { type: 'URLRewrite', urlRewrite }],
  }))
  return { ...rest, spec: { ...spec, rules } }
}

async function failureOf(client: McpClient, url: string, user: string): Promise<ClientFailure> {
  const outcome = await client(url, user).catch((failure: unknown) => failure)
  if (outcome instanceof ClientFailure) return outcome
  throw new Error(`it did not fail: ${JSON.stringify(outcome)}`)
}

describe.each(Object.entries(CLIENTS))('%s', (name, client) => {
  test.each(['one', 'two'] as const)('logs in and calls a tool, at Idp %s', async (idp) => {
    const path = MCP_PATHS[idp]
    const run = await client(stack.origin + path, 'alice')
    expect(run.echo).toBe('Echo: hi')
    expect(run.tools).toContain('echo')
    const [first, ...login] = run.calls
    expect(first).toBe(`POST ${path} 401`)
    expect(login.slice(0, 3)).toEqual([
      `GET /.well-known/oauth-protected-resource${path} 200`,
      `GET /.well-known/oauth-authorization-server${path} 200`,
      `POST /.well-known/oauth-authorization-server${path}/client-registration 201`,
    ])
    expect(run.calls).toContain(`GET ${path} 200`)
  })

  test('stops at once when the user is not in the group', async () => {
    const { calls, message } = await failureOf(client, stack.origin + MCP_PATHS.one, 'bob')
    const refused = calls.filter((call) => call === `POST ${MCP_PATHS.one} 403`)
    // Python asks for server/discover before it says initialize.
    expect(refused).toHaveLength(name === 'python' ? 2 : 1)
    expect(calls.filter((call) => call.endsWith('client-registration 201'))).toHaveLength(1)
    expect(message).not.toContain('after successful authentication')
  })

  test('reports why the provider refuses a registration', async () => {
    const url = stack.origin + MCP_PATHS.twoUnregistered
    const { calls } = await failureOf(client, url, 'alice')
    const registration = calls.find((call) => call.includes('client-registration'))
    expect(registration).toMatch(/ 401$/)
    expect(two.requests).toContain('POST /v1/mgmt/mcp/client/P2test/MS2test/register')
  })
})

describe('with the issuer that the provider advertises', () => {
  const url = (): string => stack.origin + MCP_PATHS.oneAsProvider

  test('ts1 works', async () => {
    expect((await ts1(url(), 'alice')).echo).toBe('Echo: hi')
  })

  test('ts2 finds an issuer that is not where it looked (RFC 8414 section 3.3)', async () => {
    expect((await failureOf(ts2, url(), 'alice')).message).toContain(
      `expected "${url()}", received "${one.issuer}"`,
    )
  })

  test('python finds an issuer that is not where it looked (RFC 8414 section 3.3)', async () => {
    expect((await failureOf(python, url(), 'alice')).message).toContain(
      `Authorization server metadata issuer mismatch: ${one.issuer} != ${url()}`,
    )
  })

  test('the policy reports it', async () => {
    const entry = (await stack.status()).find(
      ({ kind, name }) => kind === 'ProxyPolicy' && name === 'one-as-provider',
    )
    const text = JSON.stringify(entry?.conditions)
    expect(text).toContain('metadataIssuer')
  })
})

describe('a service account', () => {
  test('is refused without the group, though its token is good', async () => {
    const token = await one.serviceToken(stack.origin + MCP_PATHS.one)
    const answer = await send(stack.origin, MCP_PATHS.one, {
      ...initialize,
      headers: { ...bearer(token), 'content-type': 'application/json' },
    })
    expect(answer.status).toBe(403)
    expect(answer.headers['www-authenticate']).toBeUndefined()
  })
})

describe('a provider that sends iss with the code (RFC 9207)', () => {
  test('cannot work with clients that compare it, behind any gateway', async () => {
    const strict = await startTestIdp(idpOne, { sendIss: true })
    const own = await startStack({
      resources: (port) => {
        const [route, policy] = routeAndPolicy(port, '/one')
        const text = JSON.stringify(policy)
          .replaceAll(one.issuer, strict.issuer)
          .replaceAll(String(one.port), String(strict.port))
        return [
          gateway([port]),
          proxyBackend('everything', server),
          proxyBackend('idp-one', strict),
          route ?? {},
          JSON.parse(text) as object,
        ]
      },
    })
    try {
      expect((await ts1(`${own.origin}/one`, 'alice')).echo).toBe('Echo: hi')
      expectInMatrix('ts1', 'oidc-provider', 'Gateway')
      expect((await failureOf(ts2, `${own.origin}/one`, 'alice')).message).toContain(
        'Issuer mismatch in authorization response (RFC 9207)',
      )
      expectInMatrix('ts2', 'oidc-provider', 'Gateway', '`IssuerMismatchError`')
    } finally {
      await own.close()
      await strict.close()
    }
  })
})
