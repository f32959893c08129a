// Key sets and discovery documents of providers that are late, rotate, revoke, break and lie, as callers feel it (decisions 1 and 2).

import type { TLSSocket } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startBackend, type Backend } from '../support/backend.js'
import { selfSigned } from '../support/certificates.js'
import {
  json,
  startDocumentServer,
  type DocumentServer,
  type Reply,
} from '../support/document-server.js'
import { eventually } from '../support/eventually.js'
import { bearer, send, type Answer } from '../support/http.js'
import {
  API_GROUP,
  gateway,
  httpRoute,
  mcpRoute,
  proxyBackend,
  proxyPolicy,
  remoteJwks,
  rule,
} from '../support/resources.js'
import { startStack, type Stack, type StatusEntry } from '../support/stack.js'
import { keySet, newKey, signToken, type SigningKey } from '../support/tokens.js'

const ISSUER = 'https://idp.example'
const RETRIED_MS = 5_000

const [k1, k2, stranger] = (await Promise.all(
  ['k1', 'k2', 'made-up'].map((kid) => newKey(kid)),
)) as [SigningKey, SigningKey, SigningKey]
const certificate = selfSigned('idp.internal')

let backend: Backend
let idp: DocumentServer
let tlsIdp: DocumentServer
const serverNames: (string | false | null)[] = []
let stack: Stack

/** Each name: a route /NAME with a policy NAME whose keys the provider serves at /NAME. */
const FROM_THE_START = [
  'rotated',
  'shared',
  'revoked',
  'not-json',
  'wrong-type',
  'wrong-keys',
  'huge',
  'redirecting',
  'failing',
  'broken-off',
  'slow',
  'partly',
] as const

beforeAll(async () => {
  backend = await startBackend()
  idp = await startDocumentServer()
  tlsIdp = await startDocumentServer({ tls: certificate })
  for (const name of FROM_THE_START) idp.serve(`/${name}`, keySet(k1))
  tlsIdp.serve('/jwks', (request, response) => {
    serverNames.push((request.socket as TLSSocket).servername ?? null)
    json(keySet(k1))(request, response)
  })
  stack = await startStack({
    resources: (port) => [
      gateway([port]),
      proxyBackend('backend', backend),
      proxyBackend('idp', idp),
      ...FROM_THE_START.flatMap((name) => protectedRoute(name)),
    ],
  })
  await eventually(async () => {
    for (const name of FROM_THE_START) expect(await statusOf(name, k1)).toBe(200)
  })
})

afterAll(async () => {
  await stack.close()
  await Promise.all([idp, tlsIdp, backend].map((server) => server.close()))
})

function protectedRoute(
  name: string,
  jwks = remoteJwks('idp', idp.port, `/${name}`),
  mode = 'Strict',
): readonly object[] {
  return [
    httpRoute(name, { rules: [rule(`/${name}`, 'backend')] }),
    proxyPolicy(name, name, { jwtAuthentication: { mode, providers: [{ issuer: ISSUER, jwks }] } }),
  ]
}

/** Each call with a new token, so that nothing is remembered of it. */
async function call(name: string, key?: SigningKey): Promise<Answer> {
  if (key === undefined) return send(stack.origin, `/${name}`)
  const token = await signToken({ key, claims: { iss: ISSUER, jti: String(Math.random()) } })
  return send(stack.origin, `/${name}`, { headers: bearer(token) })
}

const statusOf = async (name: string, key?: SigningKey): Promise<number> =>
  (await call(name, key)).status

async function policyOf(name: string): Promise<StatusEntry> {
  const found = (await stack.status()).find(
    (each) => each.kind === 'ProxyPolicy' && each.name === name,
  )
  if (found === undefined) throw new Error(`no policy ${name}`)
  return found
}

const conditionsOf = async (name: string): Promise<Record<string, string[]>> => {
  const { conditions } = await policyOf(name)
  return Object.fromEntries(
    conditions.map(({ type, status, reason, message }) => [type, [status, reason, message]]),
  )
}

const fetchesOf = (path: string): number =>
  idp.requests.filter((request) => request.path === path).length

describe('late keys', () => {
  test('Strict 503 with Retry-After, and it clears itself', async () => {
    await stack.write('late.yaml', ...protectedRoute('late'))
    const message = `The key set http://${idp.host}:${String(idp.port)}/late is not available: HTTP 404`
    await eventually(async () => {
      const { Accepted, Attached } = await conditionsOf('late')
      expect(Accepted?.slice(0, 2)).toEqual(['True', 'Valid'])
      expect(Attached).toEqual(['False', 'KeySetUnavailable', message])
    })
    await eventually(async () => expect(await statusOf('late')).toBe(503), 1_000)
    const answer = await call('late', k1)
    expect([answer.status, answer.headers['retry-after']]).toEqual([503, '5'])
    expect(backend.requests.filter(({ url }) => url === '/late')).toEqual([])
    idp.serve('/late', keySet(k1))
    await eventually(async () => expect(await statusOf('late', k1)).toBe(200), RETRIED_MS)
    expect(await statusOf('late')).toBe(401)
    expect((await conditionsOf('late'))['Attached']?.[0]).toBe('True')
  })

  test('Optional: 503 to a token, without claims for none; Permissive passes both', async () => {
    const jwks = remoteJwks('idp', idp.port, '/never')
    await stack.write('optional.yaml', ...protectedRoute('optional', jwks, 'Optional'))
    await stack.write('permissive.yaml', ...protectedRoute('permissive', jwks, 'Permissive'))
    await eventually(async () => expect(await statusOf('permissive')).toBe(200))
    await eventually(async () => expect(await statusOf('optional')).toBe(200))
    expect(await statusOf('optional', k1)).toBe(503)
    expect(await statusOf('permissive', k1)).toBe(200)
    expect((await conditionsOf('optional'))['Attached']?.slice(0, 2)).toEqual([
      'False',
      'KeySetUnavailable',
    ])
  })

  test('a provider that is not there at all: 503, and it clears itself when it comes', async () => {
    const gone = await startDocumentServer()
    await gone.close()
    const jwks = remoteJwks('gone', gone.port, '/jwks')
    await stack.write('gone.yaml', proxyBackend('gone', gone), ...protectedRoute('gone', jwks))
    await eventually(async () =>
      expect((await conditionsOf('gone'))['Attached']?.[2]).toContain('ECONNREFUSED'),
    )
    await eventually(async () => expect(await statusOf('gone', k1)).toBe(503))
    const come = await startDocumentServer({ port: gone.port })
    come.serve('/jwks', keySet(k1))
    await eventually(async () => expect(await statusOf('gone', k1)).toBe(200), RETRIED_MS)
    await come.close()
    expect(await statusOf('gone', k1)).toBe(200)
  })
})

describe('rotated keys', () => {
  test('an unknown kid brings the new keys within the request that shows it', async () => {
    const before = fetchesOf('/rotated')
    idp.serve('/rotated', keySet(k1, k2))
    expect(await statusOf('rotated', k2)).toBe(200)
    expect(fetchesOf('/rotated')).toBe(before + 1)
    expect(await statusOf('rotated', k1)).toBe(200)
  })

  test('waiting requests share one fetch, and made-up kids cost nothing more', async () => {
    const before = fetchesOf('/shared')
    const arrived = hold('/shared')
    const waiting = [call('shared', k2), call('shared', k2), call('shared', stranger)]
    const release = await arrived
    release(json(keySet(k2)))
    const statuses = (await Promise.all(waiting)).map(({ status }) => status)
    expect(statuses).toEqual([200, 200, 401])
    for (let i = 0; i < 20; i++)
      expect(await statusOf('shared', { ...stranger, kid: `made-up-${String(i)}` })).toBe(401)
    expect(fetchesOf('/shared')).toBe(before + 1)
    expect(await statusOf('shared', k1)).toBe(401)
  })

  test('a valid empty set revokes every key, also for tokens that were let in before', async () => {
    const token = await signToken({ key: k1, claims: { iss: ISSUER } })
    const again = async () =>
      (await send(stack.origin, '/revoked', { headers: bearer(token) })).status
    expect(await again()).toBe(200)
    idp.serve('/revoked', { keys: [] })
    expect(await statusOf('revoked', stranger)).toBe(401)
    expect(await again()).toBe(401)
    expect((await conditionsOf('revoked'))['Accepted']?.[2]).toContain('no token is valid')
  })
})

/** The provider holds its answer at path; resolves, when the first request is there, to what lets it answer. */
function hold(path: string): Promise<(reply: Reply) => void> {
  return new Promise((arrive) => {
    idp.serve(path, (request, response) => arrive((reply) => reply(request, response)))
  })
}

describe.concurrent(
  'a bad answer leaves the last good keys in force, and the status says so',
  () => {
    const redirect: Reply = (_request, response) =>
      response.writeHead(302, { location: `${idp.origin}/elsewhere` }).end()
    const huge: Reply = (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ ...keySet(k1, k2), padding: 'x'.repeat(1024 * 1024) }))
    }

    test.each<[(typeof FROM_THE_START)[number], Reply, string]>([
      ['not-json', (_request, response) => response.end('<html>'), 'the answer is not JSON'],
      ['wrong-type', json([keySet(k2)]), 'the answer is not a JSON object'],
      ['wrong-keys', json({ keys: { k2: k2.publicJwk } }), '"keys" is not an array of objects'],
      ['huge', huge, 'the answer is larger than 1048576 bytes'],
      ['redirecting', redirect, 'HTTP 302: redirects are not followed'],
      ['failing', json(keySet(k2), 500), 'HTTP 500'],
      ['broken-off', (request) => request.socket.destroy(), 'the connection broke'],
      ['slow', () => undefined, 'no complete answer within 5000 ms'],
    ])('%s', async (name, reply, problem) => {
      idp.serve('/elsewhere', keySet(k2))
      const before = fetchesOf(`/${name}`)
      idp.serve(`/${name}`, reply)
      expect(await statusOf(name, k2)).toBe(401)
      expect(fetchesOf(`/${name}`)).toBe(before + 1)
      await eventually(async () => {
        const { Accepted, Attached } = await conditionsOf(name)
        expect(Attached?.[0]).toBe('True')
        expect(Accepted?.[2]).toContain('it cannot be refreshed: ')
        expect(Accepted?.[2]).toContain(problem)
      })
      expect(await statusOf(name, k1)).toBe(200)
      expect(idp.requests.filter(({ path }) => path === '/elsewhere')).toEqual([])
    })
  },
)

test('a key that cannot be used is skipped and named in the status', async () => {
  const odd = { kty: 'oct', k: 'c2VjcmV0', kid: 'symmetric' }
  idp.serve('/partly', { keys: [odd, k1.publicJwk, k2.publicJwk] })
  expect(await statusOf('partly', k2)).toBe(200)
  await eventually(async () =>
    expect((await conditionsOf('partly'))['Accepted']?.[2]).toContain('"symmetric"'),
  )
})

describe('keys over TLS', () => {
  const tls = (name: string, validation: object): readonly object[] => [
    proxyBackend(name, tlsIdp),
    {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'BackendTLSPolicy',
      metadata: { name },
      spec: { targetRefs: [{ group: API_GROUP, kind: 'ProxyBackend', name }], validation },
    },
    ...protectedRoute(name, remoteJwks(name, tlsIdp.port, '/jwks')),
  ]
  const authority = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'ca' },
    data: { 'ca.crt': certificate.cert },
  }
  const caCertificateRefs = [{ group: '', kind: 'ConfigMap', name: 'ca' }]

  test('with an authority of its own, by the name of the BackendTLSPolicy', async () => {
    await stack.write(
      'tls.yaml',
      authority,
      ...tls('tls', { hostname: 'idp.internal', caCertificateRefs }),
    )
    await eventually(async () => expect(await statusOf('tls', k1)).toBe(200))
    expect([...new Set(serverNames)]).toEqual(['idp.internal'])
  })

  test.each([
    ['another-name', { hostname: 'other.internal', caCertificateRefs }],
    ['another-authority', { hostname: 'idp.internal', wellKnownCACertificates: 'System' }],
  ])('%s is refused', async (name, validation) => {
    const before = tlsIdp.requests.length
    await stack.write(`${name}.yaml`, authority, ...tls(name, validation))
    await eventually(async () =>
      expect((await conditionsOf(name))['Attached']?.[2]).toMatch(/TLS to \w+\.internal failed/),
    )
    await eventually(async () => expect(await statusOf(name, k1)).toBe(503))
    expect(tlsIdp.requests).toHaveLength(before)
  })
})

test('inline keys', async () => {
  const jwks = { inline: JSON.stringify(keySet(k2)) }
  await stack.write('inline.yaml', ...protectedRoute('inline', jwks))
  await eventually(async () => expect(await statusOf('inline', k2)).toBe(200))
  expect(await statusOf('inline', k1)).toBe(401)
})

describe('discovery documents', () => {
  const issuer = 'https://idp.example/application/o/mcp/'
  const discovery = '/application/o/mcp/.well-known/openid-configuration'
  const document = { issuer, authorization_endpoint: `${issuer}authorize` }
  const served = '/.well-known/oauth-authorization-server/mcp'
  const policy = (scope: string): object =>
    proxyPolicy('mcp', 'mcp', {
      jwtAuthentication: {
        providers: [{ issuer, audiences: ['mcp'], jwks: remoteJwks('idp', idp.port, '/rotated') }],
        mcp: {
          provider: 'IdpOne',
          clientId: 'mcp',
          resourceMetadata: { resource: `${stack.origin}/mcp`, scopesSupported: [scope] },
        },
      },
    })
  const scopes = async (): Promise<unknown> => {
    const answer = await send(stack.origin, '/.well-known/oauth-protected-resource/mcp')
    return (JSON.parse(answer.body) as { scopes_supported: unknown }).scopes_supported
  }

  test.each<[string, Reply]>([
    ['missing', json({}, 404)],
    ['garbage', (_request, response) => response.end('no')],
    ['of the wrong type', json({ issuer: 1 })],
    ['redirecting', (_request, response) => response.writeHead(302, { location: '/' }).end()],
  ])(
    '%s: 503 until the first good one, which a change of policies does not lose',
    async (_name, bad) => {
      idp.serve(discovery, bad)
      await stack.write('mcp.yaml', mcpRoute('mcp', 'backend'), policy('one'))
      await eventually(async () => expect((await send(stack.origin, served)).status).toBe(503))
      await eventually(async () => expect(await scopes()).toEqual(['one']))
      idp.serve(discovery, document)
      await eventually(
        async () => expect((await send(stack.origin, served)).status).toBe(200),
        RETRIED_MS,
      )
      idp.serve(discovery, bad)
      await stack.write('mcp.yaml', mcpRoute('mcp', 'backend'), policy('two'))
      await eventually(async () => expect(await scopes()).toEqual(['two']))
      expect(JSON.parse((await send(stack.origin, served)).body)).toMatchObject(document)
      await stack.remove('mcp.yaml')
      await eventually(async () => expect((await send(stack.origin, served)).status).toBe(404))
    },
  )
})

test('counts the fetches', async () => {
  const metrics = await stack.metrics()
  expect(metrics).toMatch(/gatehouse_key_set_fetches_total\{result="success"\} [1-9]/)
  expect(metrics).toMatch(/gatehouse_key_set_fetches_total\{result="failure"\} [1-9]/)
})
