// serve --kubernetes --for istio beside a real istiod: it applies what makes the gateways ask it, and says what is in force.

import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { ADDRESS } from '../../testing/api-server.js'
import { eventually } from '../../testing/eventually.js'
import { type Replica, startReplica } from '../../testing/replica.js'
import { rolesFor } from '../kubernetes/support/roles.js'
import { type Backend, startBackend } from '../support/backend.js'
import { both } from '../support/guardrails.js'
import { bearer, send } from '../support/http.js'
import { proxyPolicy } from '../support/resources.js'
import { keySet, newKey, signToken } from '../support/tokens.js'
import {
  MOST_PROBES,
  noMore,
  probesAt,
  untilEnforced,
  untilForbidden,
  untilReported,
  YES,
} from './support/enforced.js'
import { edge, hostOf, type Istio, PORT, route, serviceTo, startIstio } from './support/istio.js'

const ORIGIN = `http://127.0.0.1:${PORT}`
const GRPC_PORT = 18_005
const CONNECT = `${hostOf('gatehouse')}:${String(GRPC_PORT)}`
const ISSUER = 'https://idp.example'
const ENVOY_FILTER = 'networking.istio.io/v1alpha3'
/** Longest time that istiod and its Envoy take for a change, on a busy machine. */
const PATIENCE = 60_000

const key = await newKey('k1')

/** The Gateway takes the routes of all namespaces. */
const sharedEdge = {
  ...edge,
  spec: {
    ...edge.spec,
    listeners: edge.spec.listeners.map((listener) => ({
      ...listener,
      allowedRoutes: { namespaces: { from: 'All' } },
    })),
  },
}

let app: Backend
let mesh: Istio
let replica: Replica
let port: number

const protect = (name: string, more: object = {}): object =>
  proxyPolicy(name, name, {
    jwtAuthentication: {
      mode: 'Strict',
      providers: [{ issuer: ISSUER, jwks: { inline: JSON.stringify(keySet(key)) } }],
    },
    ...more,
  })

beforeAll(async () => {
  ;[app, mesh] = await Promise.all([
    startBackend('app'),
    // What it reports about Gatehouse's EnvoyFilters would be in Enforced.
    startIstio({}, { PILOT_ENABLE_ANALYSIS: 'true' }),
  ])
  port = await mesh.service('app', app.port)
  await mesh.api.apply(
    ...serviceTo('gatehouse', GRPC_PORT, 'grpc'),
    sharedEdge,
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'tenant' } },
    route('app', '/app', 'app', port),
    route('public', '/public', 'app', port),
    ...rolesFor('guest', { mesh: 'istio' }),
  )
  await answers('/public', 200)
  replica = await start('one')
}, 300_000)

const start = async (name: string, ...flags: readonly string[]): Promise<Replica> =>
  startReplica({
    name,
    kubeconfig: await mesh.api.kubeconfig('guest'),
    grpc: `${ADDRESS}:${String(GRPC_PORT)}`,
    flags: ['--for', 'istio', '--connect', CONNECT, ...flags],
  })

afterAll(async () => {
  await replica.stop()
  await mesh.close()
  await app.close()
})

beforeEach(async () => {
  await mesh.api.apply(protect('app'))
  await answers('/app', 401)
}, PATIENCE)

/** Objects that a test has applied. */
let added: readonly object[] = []

async function add(...objects: readonly object[]): Promise<void> {
  added = [...added, ...objects]
  await mesh.api.apply(...objects)
}

async function takeBack(): Promise<void> {
  const objects = added
  added = []
  await mesh.api.delete(...objects)
}

const rolesAreEnough = (): void => expect(replica.log()).not.toMatch(/ cannot \w+ resource /)

afterEach(async () => {
  await takeBack()
  // Whatever a test did.
  rolesAreEnough()
})

/** Waits until a request without a token gets this status. */
const answers = (path: string, status: number): Promise<void> =>
  eventually(async () => {
    expect((await send(ORIGIN, path)).status).toBe(status)
  }, PATIENCE)

const enforced = (condition: object, name?: string): Promise<void> =>
  untilEnforced(mesh.api, condition, name)

const reported = (reason: string, culprit: string): Promise<void> =>
  untilReported(mesh.api, replica, reason, culprit)

const text = (part: string): unknown => expect.stringContaining(part)

test('a policy protects its route, a probe has proven it, and others go on', async () => {
  const token = await signToken({ key, claims: { iss: ISSUER } })
  expect(await send(ORIGIN, '/app', { headers: bearer(token) })).toMatchObject({ status: 200 })
  expect((await send(ORIGIN, '/public')).status).toBe(200)
  const before = app.requests.length
  await enforced(YES)
  expect(app.requests.length).toBe(before)
})

/** The policy of a route that webhooks guard and nobody needs a token for. */
const guard = (name: string): object => ({
  apiVersion: 'policy.gatehouse.dev/v1alpha1',
  kind: 'ProxyPolicy',
  metadata: { name: `${name}-guard` },
  spec: {
    targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name }],
    backend: {
      ai: {
        promptGuard: both({ webhook: { backendRef: { kind: 'Service', name: 'app', port } } }),
      },
    },
  },
})

test('guards are proven too, behind a check and without one, for each rule', async () => {
  const { metadata, spec, ...kind } = route('two', '/two', 'app', port) as {
    readonly metadata: object
    readonly spec: { readonly rules: readonly object[] }
  }
  const second = { ...spec.rules[0], matches: [{ path: { type: 'Exact', value: '/second' } }] }
  await add({ ...kind, metadata, spec: { ...spec, rules: [...spec.rules, second] } })
  await add(guard('two'), guard('app'))
  await enforced(YES, 'two-guard')
  await enforced(YES, 'app-guard')
  await enforced(YES)
})

/** The policy of an MCP route, whose lists are filtered. */
const mcpPolicy = (name: string): object =>
  protect(name, {
    jwtAuthentication: {
      mode: 'Strict',
      providers: [
        { issuer: ISSUER, audiences: ['mcp'], jwks: { inline: JSON.stringify(keySet(key)) } },
      ],
      mcp: { resourceMetadata: { resource: `${ORIGIN}/${name}` }, filterLists: true },
    },
    authorization: {
      action: 'Deny',
      policy: { matchExpressions: ['mcp.tool.name == "get-sum"'] },
    },
  })
const PRM = '/.well-known/oauth-protected-resource/tools'

test('the filter of lists is proven too: the EnvoyFilter that removes it is named', async () => {
  await add(route('tools', '/tools', 'app', port), mcpPolicy('tools'))
  await enforced(YES, 'tools')
  await add(removerOf('gatehouse.ext_proc'))
  await enforced(
    { status: 'False', reason: 'NotProven', message: text('EnvoyFilter default/remover') },
    'tools',
  )
  // Its checks are still asked.
  expect((await send(ORIGIN, '/tools')).status).toBe(401)
  await enforced(YES)
})

test('an HTTPRoute that serves forged OAuth documents is named', async () => {
  await add(route('tools', '/tools', 'app', port), mcpPolicy('tools'))
  await enforced(YES, 'tools')
  expect((await send(ORIGIN, PRM)).status).toBe(200)
  const { spec, ...forger } = route('forger', PRM, 'app', port) as { readonly spec: object }
  const rules = [
    {
      matches: [{ path: { type: 'Exact', value: PRM } }],
      backendRefs: [{ name: 'app', port }],
    },
  ]
  await add({ ...forger, spec: { ...spec, rules } })
  await enforced({ status: 'False', reason: 'Bypassed', message: text('default/forger') }, 'tools')
})

/** An HTTPRoute of another tenant, whose rule has the name that istiod gives the rule of HTTPRoute default/app. */
const sameName = {
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'HTTPRoute',
  metadata: { name: 'same', namespace: 'tenant' },
  spec: {
    parentRefs: [{ name: 'edge', namespace: 'default' }],
    rules: [
      {
        name: 'default.app.0',
        matches: [{ path: { type: 'PathPrefix', value: '/app' } }],
        backendRefs: [{ name: 'own', port: 80 }],
      },
    ],
  },
}
const everybody = {
  ...(proxyPolicy('same', 'same', {
    authorization: { policy: { matchExpressions: ['true'] } },
  }) as { readonly metadata: object }),
  metadata: { name: 'same', namespace: 'tenant' },
}
test('a tenant cannot open a route by the name of a rule: both are closed, and others are not', async () => {
  await add(protect('public'))
  await enforced(YES)
  await enforced(YES, 'public')
  await add(everybody, sameName)
  await enforced({ status: 'False', reason: 'NotSupported', message: text('of another namespace') })
  await answers('/app', 503)
  await enforced(YES, 'public')
  expect((await send(ORIGIN, '/public')).status).toBe(401)
  await takeBack()
  await enforced(YES)
  await answers('/app', 401)
})

test('a rule of the same name without a policy changes nothing for the route', async () => {
  await enforced(YES)
  await add(sameName)
  await eventually(async () => {
    const { status } = await mesh.api.get(
      'gateway.networking.k8s.io/v1',
      'HTTPRoute',
      'same',
      'tenant',
    )
    expect(JSON.stringify(status)).toContain('"Accepted"')
  }, PATIENCE)
  expect((await send(ORIGIN, '/app')).status).toBe(401)
  expect((await send(ORIGIN, '/app/files')).status).toBe(401)
})

test('an EnvoyFilter that is deleted is applied again: the roles of the chart are enough', async () => {
  await enforced(YES)
  for (const name of ['gatehouse-edge', 'gatehouse.default.app']) {
    const before = await mesh.api.get(ENVOY_FILTER, 'EnvoyFilter', name)
    await mesh.api.delete(before)
    await eventually(async () => {
      const { metadata } = await mesh.api.get(ENVOY_FILTER, 'EnvoyFilter', name)
      expect(metadata).toMatchObject({ ownerReferences: [{ kind: 'Gateway', name: 'edge' }] })
    }, PATIENCE)
  }
  await answers('/app', 401)
  await enforced(YES)
  rolesAreEnough()
})

/** Takes a filter of Gatehouse from the Gateway: EnvoyFilters of a higher priority are applied later. */
const removerOf = (filter: string): object => ({
  apiVersion: ENVOY_FILTER,
  kind: 'EnvoyFilter',
  metadata: { name: 'remover', namespace: 'default' },
  spec: {
    priority: 10,
    configPatches: [
      {
        applyTo: 'HTTP_FILTER',
        match: {
          context: 'GATEWAY',
          listener: {
            filterChain: {
              filter: {
                name: 'envoy.filters.network.http_connection_manager',
                subFilter: { name: filter },
              },
            },
          },
        },
        patch: { operation: 'REMOVE' },
      },
    ],
  },
})

test('an EnvoyFilter of another author that opens the route is named, after the first probes that get through', async () => {
  await enforced(YES)
  const before = probesAt(app).length
  await add(removerOf('gatehouse.ext_authz'))
  await enforced({
    status: 'False',
    reason: 'NotProven',
    message: text('EnvoyFilter default/remover'),
  })
  const probes = probesAt(app).length - before
  expect(probes).toBeGreaterThan(0)
  expect(probes).toBeLessThanOrEqual(MOST_PROBES)
  await reported('NotProven', 'EnvoyFilter default/remover')
})

test.each(['gatehouse-edge', 'gatehouse.default.app'])(
  'the EnvoyFilter %s, deleted and forbidden, is named',
  async (name) => {
    await enforced(YES)
    const filter = await mesh.api.get(ENVOY_FILTER, 'EnvoyFilter', name)
    await add(...noMore('networking.istio.io', 'envoyfilters', name))
    await untilForbidden(mesh.api, filter)
    await mesh.api.delete(filter)
    await reported('NotApplied', `EnvoyFilter default/${name}`)
    await takeBack()
    await enforced(YES)
  },
)

test('an AuthorizationPolicy that answers before Gatehouse is named', async () => {
  const deny = {
    apiVersion: 'security.istio.io/v1',
    kind: 'AuthorizationPolicy',
    metadata: { name: 'closing', namespace: 'default' },
    spec: {
      targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'edge' }],
      action: 'DENY',
      rules: [{ to: [{ operation: { paths: ['/app'] } }] }],
    },
  }
  await enforced(YES)
  await add(deny)
  await reported('NotProven', 'AuthorizationPolicy default/closing')
})

test('a narrower route without a policy is named', async () => {
  const narrower = route('narrower', '/app/files', 'app', port)
  await enforced(YES)
  await add(narrower)
  await reported('Bypassed', 'HTTPRoute default/narrower')
})

test('a policy that is deleted takes its objects with it', async () => {
  await mesh.api.delete(protect('app'))
  await answers('/app', 200)
  for (const name of ['gatehouse-edge', 'gatehouse.default.app'])
    await eventually(
      () => expect(mesh.api.get(ENVOY_FILTER, 'EnvoyFilter', name)).rejects.toThrow('404'),
      PATIENCE,
    )
})

test('a policy that the mesh cannot carry closes its route', async () => {
  await mesh.api.apply(protect('app', { rateLimit: { local: [{ requests: 1, per: '1m' }] } }))
  await enforced({ status: 'False', reason: 'NotSupported' })
  await answers('/app', 503)
})

test('where policies are required, other routes are closed, and documents are proven', async () => {
  await add(route('tools', '/tools', 'app', port), mcpPolicy('tools'))
  await replica.stop()
  replica = await start('required', '--require-policy')
  await answers('/public', 503)
  await enforced(YES)
  await enforced(YES, 'tools')
  expect((await send(ORIGIN, PRM)).status).toBe(200)
  // Also those that no patch finds.
  const filter = await mesh.api.get(ENVOY_FILTER, 'EnvoyFilter', 'gatehouse-edge')
  expect(JSON.stringify(filter)).toContain('"name":"gatehouse.ext_authz"')
  expect(JSON.stringify(filter)).not.toContain('"disabled":true')
})

test('workers answer probes too', async () => {
  await add(guard('app'))
  await replica.stop()
  replica = await start('two', '--workers', '2')
  await eventually(async () => {
    expect(await replica.metrics()).toContain('gatehouse_enforced_policies{enforced="true"} 2')
  }, PATIENCE)
  await enforced(YES)
})
