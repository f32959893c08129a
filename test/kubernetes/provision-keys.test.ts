// serve --kubernetes --provision with TLS: Check and Process serve an Envoy the routes of its own Gateway alone. For those of
// another Gateway it gets what it gets for a route that does not exist.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { EnvoyChild } from '../../src/cli/run-envoy/child.js'
import type { JsonObject } from '../../src/model/json.js'
import { ADDRESS, type ApiServer } from '../../testing/api-server.js'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { type Replica, startReplica } from '../../testing/replica.js'
import { startBackend } from '../support/backend.js'
import { selfSigned } from '../support/certificates.js'
import { gateway, httpRoute, prefix } from '../support/resources.js'
import { writeToken } from '../support/token-folder.js'
import { startCreatedEnvoy, tokenFor } from './support/created-envoy.js'
import { endpointSlice, gatewayClass, inNamespace, policy, service } from './support/objects.js'
import { apiServerFor } from './support/shared-api-server.js'

const AUDIENCE = 'gatehouse.infra.svc'
const TENANTS = ['alice', 'bob'] as const
const DOCUMENT = '/.well-known/oauth-protected-resource/mcp'
const READ_ONLY = { authorization: { policy: { matchExpressions: ['request.method == "GET"'] } } }

type Tenant = (typeof TENANTS)[number]

const ports = new Map<string, number>()
const envoys: EnvoyChild[] = []
let api: ApiServer
let backend: Awaited<ReturnType<typeof startBackend>>
let replica: Replica
let folder: string
let startGatehouse: (...more: readonly string[]) => Promise<Replica>

beforeAll(async () => {
  api = await apiServerFor()
  backend = await startBackend('app', { host: ADDRESS })
  await api.apply(gatewayClass())
  for (const of of [...TENANTS, 'set', 'rogue']) ports.set(of, await freePort())
  for (const tenant of TENANTS) await deploy(tenant)
  await api.apply(...shared.map((object) => inNamespace('alice', object)))
  await api.apply(...ofSet().map((object) => inNamespace('bob', object)))
  const grpc = `${ADDRESS}:${String(await freePort())}`
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-keys-'))
  const own = selfSigned(AUDIENCE)
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  await Promise.all([writeFile(cert, own.cert), writeFile(key, own.key)])
  const flags = [
    '--provision',
    '--connect',
    grpc,
    '--connect-tls',
    AUDIENCE,
    '--connect-ca',
    cert,
    '--grpc-tls-cert',
    cert,
    '--grpc-tls-key',
    key,
  ]
  const kubeconfig = await api.kubeconfig()
  startGatehouse = (...more) => startReplica({ kubeconfig, grpc, flags: [...flags, ...more] })
  replica = await startGatehouse()
  for (const tenant of TENANTS) await startEnvoy(tenant, tenant)
  await startEnvoy('alice', 'rogue', asRogue)
}, 180_000)

afterAll(async () => {
  for (const envoy of envoys) await envoy.stop()
  await replica.stop()
  await backend.close()
  await api.close()
  await rm(folder, { recursive: true })
})

/** Starts an Envoy with the token of the tenant's Gateway. */
async function startEnvoy(
  namespace: Tenant,
  name: string,
  change?: (bootstrap: JsonObject) => JsonObject,
): Promise<void> {
  const options = { namespace, audience: AUDIENCE, folder: join(folder, name) }
  envoys.push(await startCreatedEnvoy(api, { ...options, ...(change && { change }) }))
}

const backendRefs = [{ name: 'app', port: 80 }]
const allowedRoutes = { namespaces: { from: 'All' } }
const KEYS = '{"keys":[]}'

/** Creates a Gateway, with a route that may only be read and one for MCP. */
async function deploy(tenant: Tenant): Promise<void> {
  const { spec, ...own } = gateway([
    { name: 'http', port: ports.get(tenant), protocol: 'HTTP', allowedRoutes },
  ])
  const allowedListeners = { namespaces: { from: 'Same' } }
  const providers = [{ issuer: 'https://idp.example', audiences: ['mcp'], jwks: { inline: KEYS } }]
  const matches = ['/mcp', DOCUMENT, '/.well-known/oauth-authorization-server/mcp'].map(prefix)
  const objects = [
    { ...own, spec: { ...spec, allowedListeners } },
    service('app'),
    endpointSlice('app', [{ address: ADDRESS, port: backend.port }]),
    httpRoute('app', { rules: [{ backendRefs }] }),
    policy('rule', READ_ONLY),
    httpRoute('mcp', { rules: [{ matches, backendRefs }] }),
    policy('login', { jwtAuthentication: { providers, mcp: { clientId: 'client' } } }, 'mcp'),
  ]
  await api.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: tenant } })
  await api.apply(...objects.map((object) => inNamespace(tenant, object)))
}

/** A route of both Gateways. */
const shared = [
  httpRoute('shared', {
    parentRefs: TENANTS.map((namespace) => ({ name: 'gw', namespace })),
    rules: [{ matches: [prefix('/shared')], backendRefs }],
  }),
  policy(
    'shared',
    { authorization: { policy: { matchExpressions: ['request.method != "POST"'] } } },
    'shared',
  ),
]

/** A ListenerSet with a route. */
const ofSet = () => [
  {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'ListenerSet',
    metadata: { name: 'set' },
    spec: {
      parentRef: { name: 'gw' },
      listeners: [{ name: 'set', port: ports.get('set'), protocol: 'HTTP' }],
    },
  },
  httpRoute('set', {
    parentRefs: [{ kind: 'ListenerSet', name: 'set' }],
    rules: [{ backendRefs }],
  }),
  policy('set', READ_ONLY, 'set'),
]

/** Keys of both tables, by the path prefix or the header under which the rogue Envoy sends them. */
const ASKED = {
  own: { authz: 'alice/app/0', proc: 'alice/mcp/0' },
  shared: { authz: 'alice/shared/0' },
  foreign: { authz: 'bob/app/0', proc: 'bob/mcp/0' },
  set: { authz: 'bob/set/0' },
  nothing: { authz: 'bob/none/0', proc: 'bob/none/0' },
}

const typeOf = (name: string): string => `type.googleapis.com/envoy.extensions.filters.${name}`
const PATIENCE = '10s'
const grpcTo = (cluster: string) => ({
  envoy_grpc: { cluster_name: cluster },
  timeout: PATIENCE,
})

const asksAuthz = (key: string) => ({
  'envoy.filters.http.ext_authz': {
    '@type': typeOf('http.ext_authz.v3.ExtAuthzPerRoute'),
    check_settings: { context_extensions: { 'gatehouse.route': key } },
  },
})

const asksProc = (key: string) => ({
  'envoy.filters.http.ext_authz': {
    '@type': typeOf('http.ext_authz.v3.ExtAuthzPerRoute'),
    disabled: true,
  },
  'envoy.filters.http.ext_proc': {
    '@type': typeOf('http.ext_proc.v3.ExtProcPerRoute'),
    overrides: {
      processing_mode: { request_header_mode: 'SEND' },
      grpc_initial_metadata: [{ key: 'x-gatehouse-route', value: key }],
    },
  },
})

const rogueRoutes = Object.entries<{ authz: string; proc?: string }>(ASKED).flatMap(
  ([name, { authz, proc }]) => [
    {
      match: { prefix: `/${name}` },
      direct_response: { status: 200 },
      typed_per_filter_config: asksAuthz(authz),
    },
    ...(proc === undefined
      ? []
      : [
          {
            match: { prefix: DOCUMENT, headers: [{ name: 'as', string_match: { exact: name } }] },
            direct_response: { status: 418 },
            typed_per_filter_config: asksProc(proc),
          },
        ]),
  ],
)

/** Has the Envoy serve no Gateway, and ask with keys of its own choice. */
function asRogue(bootstrap: JsonObject): JsonObject {
  const { static_resources: resources } = bootstrap
  const http_filters = [
    {
      name: 'envoy.filters.http.ext_authz',
      typed_config: {
        '@type': typeOf('http.ext_authz.v3.ExtAuthz'),
        transport_api_version: 'V3',
        grpc_service: grpcTo('gatehouse_ext_authz'),
      },
    },
    {
      name: 'envoy.filters.http.ext_proc',
      typed_config: {
        '@type': typeOf('http.ext_proc.v3.ExternalProcessor'),
        grpc_service: grpcTo('gatehouse_ext_proc'),
        message_timeout: PATIENCE,
        processing_mode: { request_header_mode: 'SKIP', response_header_mode: 'SKIP' },
      },
    },
    {
      name: 'envoy.filters.http.router',
      typed_config: { '@type': typeOf('http.router.v3.Router') },
    },
  ]
  const manager = {
    '@type': typeOf('network.http_connection_manager.v3.HttpConnectionManager'),
    stat_prefix: 'rogue',
    http_filters,
    route_config: { virtual_hosts: [{ name: 'all', domains: ['*'], routes: rogueRoutes }] },
  }
  const port_value = ports.get('rogue') ?? 0
  const filter = { name: 'envoy.filters.network.http_connection_manager', typed_config: manager }
  const listener = {
    address: { socket_address: { address: '127.0.0.1', port_value } },
    filter_chains: [{ filters: [filter] }],
  }
  const own = { ...(resources as object), listeners: [listener] }
  return { ...bootstrap, dynamic_resources: {}, static_resources: own as object as JsonObject }
}

interface Answer {
  readonly status: number
  readonly body: string
}

async function get(at: string, path: string, headers = {}, method = 'GET'): Promise<Answer> {
  const url = `http://127.0.0.1:${String(ports.get(at))}${path}`
  const answer = await fetch(url, { headers, method })
  return { status: answer.status, body: await answer.text() }
}

/** Resolves to what the rogue Envoy is answered with the keys of that name. */
const asRogueFor = async (name: keyof typeof ASKED) => ({
  check: await get('rogue', `/${name}`),
  process: await get('rogue', DOCUMENT, { as: name }),
})

describe.each(TENANTS)('an Envoy of the Gateway of %s', (tenant) => {
  test.each(['/', '/shared'])('has the policy of its route %s', async (path) => {
    await eventually(async () => expect((await get(tenant, path)).status).toBe(200), 60_000)
    expect((await get(tenant, path, {}, 'POST')).status).toBe(403)
  })

  test('serves the document of its route', async () => {
    const answer = await eventually(async () => {
      const got = await get(tenant, DOCUMENT)
      expect(got.status).toBe(200)
      return got
    }, 60_000)
    expect(JSON.parse(answer.body)).toMatchObject({
      resource: expect.stringContaining('/mcp') as unknown,
    })
  })
})

test('an Envoy has the policy of a route of a ListenerSet', async () => {
  await eventually(async () => expect((await get('set', '/')).status).toBe(200), 60_000)
  expect((await get('set', '/', {}, 'POST')).status).toBe(403)
})

/** Resolves when the rogue Envoy is connected. */
const rogueIsServed = () =>
  eventually(async () => {
    const { check, process } = await asRogueFor('own')
    expect([check.status, process.status]).toEqual([200, 200])
  }, 60_000)

async function usesOwn(): Promise<void> {
  const { check, process } = await asRogueFor('own')
  expect([check.status, process.status]).toEqual([200, 200])
  expect((await get('rogue', '/shared')).status).toBe(200)
  expect((await get('rogue', '/shared', {}, 'POST')).status).toBe(403)
}

async function usesNoOther(): Promise<void> {
  const nothing = await asRogueFor('nothing')
  expect([nothing.check.status, nothing.process.status]).toEqual([503, 503])
  expect(await asRogueFor('foreign')).toEqual(nothing)
  expect(await get('rogue', '/set')).toEqual(nothing.check)
  expect(replica.log()).toMatch(/"key":"bob\/app\/0".*"gateway":"alice\/gw"/)
}

describe('an Envoy that chooses the keys itself', () => {
  beforeAll(rogueIsServed, 90_000)

  test('may use those of its Gateway, and those that its Gateway shares', usesOwn)

  test(
    'is told of those of another Gateway what it is told of a route that does not exist',
    usesNoOther,
  )

  test('has no other rights after its token was renewed', async () => {
    const token = await tokenFor(api, { namespace: 'alice', name: 'gw-gatehouse' }, AUDIENCE)
    await writeToken(join(folder, 'rogue', 'run'), token)
    for (let i = 0; i < 20; i += 1) {
      expect((await get('rogue', '/own')).status).toBe(200)
      expect((await get('rogue', '/foreign')).status).toBe(503)
    }
  })
})

test('a route that leaves a Gateway is never unknown to the Envoys of that Gateway', async () => {
  const { spec, ...own } = shared[0] as { readonly spec: object }
  const parentRefs = [{ name: 'gw', namespace: 'alice' }]
  const seen = new Set([(await get('bob', '/shared', {}, 'PUT')).status])
  expect(seen).toEqual(new Set([200]))
  await api.apply(inNamespace('alice', { ...own, spec: { ...spec, parentRefs } }))
  // Then the route of everything answers.
  const end = performance.now() + 60_000
  while (!seen.has(403)) {
    expect(performance.now()).toBeLessThan(end)
    seen.add((await get('bob', '/shared', {}, 'PUT')).status)
    await delay(2)
  }
  expect(seen).toEqual(new Set([200, 403]))
  expect(replica.log()).not.toMatch(/"unknown-route".*"gateway":"bob\/gw"/)
  expect((await get('alice', '/shared', {}, 'PUT')).status).toBe(200)
})

describe('with workers', () => {
  beforeAll(async () => {
    await replica.stop()
    replica = await startGatehouse('--workers', '2')
    await rogueIsServed()
  }, 150_000)

  test('an Envoy that chooses the keys itself may use those of its Gateway', usesOwn)

  test('and none of another Gateway', usesNoOther)
})

test('an Envoy whose Gateway is gone may use no route, on the connections that it has', async () => {
  await api.call('DELETE', '/apis/gateway.networking.k8s.io/v1/namespaces/alice/gateways/gw')
  // Gatehouse ends checks with an error, for which Envoy answers 403 unless it is configured otherwise.
  await eventually(async () => {
    const { check, process } = await asRogueFor('own')
    expect([check.status, process.status]).toEqual([403, 503])
  }, 90_000)
  expect((await get('rogue', '/foreign')).status).toBe(403)
})
