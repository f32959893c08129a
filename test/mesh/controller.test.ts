// serve --kubernetes --for envoy-gateway beside a real Envoy Gateway with an API server: it applies what makes the Envoys
// ask it, keeps it applied, removes what is no longer wanted, and leaves the objects of others alone.

import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { AnyObject } from '../../testing/api-call.js'
import { ADDRESS, type ApiServer } from '../../testing/api-server.js'
import { eventually } from '../../testing/eventually.js'
import { type Replica, startReplica } from '../../testing/replica.js'
import { rolesFor } from '../kubernetes/support/roles.js'
import { apiServerFor } from '../kubernetes/support/shared-api-server.js'
import { type Backend, startBackend } from '../support/backend.js'
import { both } from '../support/guardrails.js'
import { bearer, send } from '../support/http.js'
import { proxyPolicy } from '../support/resources.js'
import { keySet, newKey, signToken } from '../support/tokens.js'
import { applyDefinitions, furtherDefinitions } from './support/definitions.js'
import { noMore, untilEnforced, untilForbidden, untilReported, YES } from './support/enforced.js'
import { type EnvoyGateway, startEnvoyGateway } from './support/envoy-gateway.js'
import { serviceTo } from './support/istio.js'
import { gatewayDocumentsFor, route } from './support/resources.js'

/** Not 8080, on which Envoy Gateway itself listens beside an API server. */
const PORT = 8096
const ORIGIN = `http://127.0.0.1:${String(PORT)}`
const [GRPC, CLOSED] = [`${ADDRESS}:18005`, `${ADDRESS}:18009`]
const ISSUER = 'https://idp.example'
const ENVOY_GATEWAY = 'gateway.envoyproxy.io/v1alpha1'
/** Longest time that Envoy Gateway and its Envoy take for a change, on a busy machine. */
const PATIENCE = 60_000

const key = await newKey('k1')

let backend: Backend
let api: ApiServer
let mesh: EnvoyGateway
let replica: Replica

const toBackend = () => ({ backendRefs: [{ name: 'app', port: backend.port }] })

const protect = (name: string): object =>
  proxyPolicy(name, name, {
    jwtAuthentication: {
      mode: 'Strict',
      providers: [{ issuer: ISSUER, jwks: { inline: JSON.stringify(keySet(key)) } }],
    },
  })

const start = async (name: string, grpc = GRPC, closed = CLOSED): Promise<Replica> =>
  startReplica({
    name,
    kubeconfig: await api.kubeconfig('guest'),
    grpc,
    flags: [
      '--for',
      'envoy-gateway',
      '--route-key',
      'envoy-gateway',
      '--connect',
      GRPC,
      '--closed',
      closed,
    ],
  })

/** What the chart's roles lack: Gatehouse is at an address here, instead of behind a Service, and makes Backends of it. */
function roleForBackends(user: string): readonly AnyObject[] {
  const rbac = 'rbac.authorization.k8s.io'
  const metadata = { name: `backends-${user}` }
  const verbs = ['create', 'patch', 'delete']
  const rules = [{ apiGroups: ['gateway.envoyproxy.io'], resources: ['backends'], verbs }]
  const roleRef = { apiGroup: rbac, kind: 'ClusterRole', name: metadata.name }
  const subjects = [{ apiGroup: rbac, kind: 'User', name: user }]
  const role = { apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata, rules }
  const binding = {
    apiVersion: role.apiVersion,
    kind: 'ClusterRoleBinding',
    metadata,
    roleRef,
    subjects,
  }
  return [role, binding]
}

beforeAll(async () => {
  api = await apiServerFor()
  await applyDefinitions(api, furtherDefinitions('GATEHOUSE_TEST_ENVOY_GATEWAY_DEFINITIONS'))
  backend = await startBackend('app', { host: ADDRESS })
  // A new kind is served a moment later.
  await eventually(() =>
    api.apply(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'envoy-gateway-system' } },
      ...gatewayDocumentsFor(PORT, { addresses: [{ type: 'IPAddress', value: ADDRESS }] }),
      route('app', '/app', 'app', toBackend()),
      route('public', '/public', 'app', toBackend()),
      ...serviceTo('app', backend.port),
    ),
  )
  await api.apply(...rolesFor('guest', { mesh: 'envoy-gateway' }), ...roleForBackends('guest'))
  mesh = await startEnvoyGateway(api)
  await answers('/public', 200)
  replica = await start('one')
}, 300_000)

afterAll(async () => {
  await replica.stop()
  await mesh.close()
  await api.close()
  await backend.close()
})

beforeEach(async () => {
  await api.apply(protect('app'))
  await answers('/app', 401)
}, PATIENCE)

const rolesAreEnough = (): void => expect(replica.log()).not.toMatch(/ cannot \w+ resource /)

// Whatever a test did.
afterEach(rolesAreEnough)

/** Waits until a request without a token gets this status. */
const answers = (path: string, status: number): Promise<void> =>
  eventually(async () => {
    expect((await send(ORIGIN, path)).status).toBe(status)
  }, PATIENCE)

const securityPolicy = (name = 'gatehouse-app') => api.get(ENVOY_GATEWAY, 'SecurityPolicy', name)

const enforced = (condition: object, name?: string): Promise<void> =>
  untilEnforced(api, condition, name)

const reported = (reason: string, culprit: string): Promise<void> =>
  untilReported(api, replica, reason, culprit)

test('a policy is enforced when the mesh has accepted it and a probe has proven it', async () => {
  await enforced(YES)
  const before = backend.requests.length
  expect(await replica.metrics()).toContain('gatehouse_enforced_policies{enforced="true"} 1')
  expect(backend.requests.length).toBe(before)
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
        promptGuard: both({
          webhook: { backendRef: { kind: 'Service', name: 'app', port: backend.port } },
        }),
      },
    },
  },
})

test('guards are proven too, behind a check and without one', async () => {
  await api.apply(guard('public'), guard('app'))
  await enforced(YES, 'public-guard')
  await enforced(YES, 'app-guard')
  await enforced(YES)
  await api.delete(guard('public'), guard('app'))
})

/** The policy of an MCP route. */
const mcpPolicy = (name: string): object =>
  proxyPolicy(name, name, {
    jwtAuthentication: {
      mode: 'Strict',
      providers: [
        { issuer: ISSUER, audiences: ['mcp'], jwks: { inline: JSON.stringify(keySet(key)) } },
      ],
      mcp: { resourceMetadata: { resource: `${ORIGIN}/${name}` } },
    },
  })

test('the OAuth documents are proven too, and an HTTPRoute that serves forged ones is named', async () => {
  const document = '/.well-known/oauth-protected-resource/public'
  const forger = route('forger', document, 'app', {
    ...toBackend(),
    matches: [{ path: { type: 'Exact', value: document } }],
  })
  await api.apply(mcpPolicy('public'))
  await enforced(YES, 'public')
  expect((await send(ORIGIN, document)).status).toBe(200)
  await api.apply(forger)
  const message = expect.stringContaining('HTTPRoute default/forger') as unknown
  await enforced({ status: 'False', reason: 'Bypassed', message }, 'public')
  await api.delete(forger)
  await enforced(YES, 'public')
  await api.delete(mcpPolicy('public'))
  await answers('/public', 200)
})

/** Sorts before Gatehouse's: of two created in the same second, the first by name is in force. */
const older = {
  apiVersion: ENVOY_GATEWAY,
  kind: 'SecurityPolicy',
  metadata: { name: 'earlier' },
  spec: {
    targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'app' }],
    cors: { allowOrigins: ['https://app.example'] },
  },
}

test('an older policy on the route is named', async () => {
  await enforced(YES)
  await api.apply(older)
  await api.delete(await securityPolicy())
  await reported('NotAccepted', 'SecurityPolicy default/earlier')
  await api.delete(older)
  await enforced(YES)
})

test('a SecurityPolicy that is deleted and cannot be applied again is named', async () => {
  const forbidden = noMore('gateway.envoyproxy.io', 'securitypolicies', 'gatehouse-app')
  await enforced(YES)
  await api.apply(...forbidden)
  await untilForbidden(api, await securityPolicy())
  await api.delete(await securityPolicy())
  await reported('NotApplied', 'SecurityPolicy default/gatehouse-app')
  await api.delete(...forbidden)
  await enforced(YES)
})

test.each([
  ['the webhooks of a route', 'public', guard, 'public-guard'],
  ['the documents of a route', 'gatehouse-documents-public', mcpPolicy, 'public'],
])(
  'an older EnvoyExtensionPolicy that switches off %s is named',
  async (_, target, policyOf, name) => {
    const own = policyOf('public')
    const extension = {
      ...older,
      kind: 'EnvoyExtensionPolicy',
      spec: { targetRefs: [{ ...older.spec.targetRefs[0], name: target }] },
    }
    await api.apply(own)
    await enforced(YES, name)
    await api.apply(extension)
    const applied = target.startsWith('gatehouse-') ? target : `gatehouse-${target}`
    await api.delete(await api.get(ENVOY_GATEWAY, 'EnvoyExtensionPolicy', applied))
    const message = expect.stringContaining('EnvoyExtensionPolicy default/earlier') as unknown
    await enforced({ status: 'False', reason: 'NotAccepted', message }, name)
    await api.delete(extension)
    await enforced(YES, name)
    await api.delete(own)
    await answers('/public', 200)
  },
)

test('a policy on one rule of the route, which the mesh prefers, is named', async () => {
  const onRule = {
    ...older,
    spec: { ...older.spec, targetRefs: [{ ...older.spec.targetRefs[0], sectionName: 'main' }] },
  }
  await api.apply(route('app', '/app', 'app', { ...toBackend(), name: 'main' }))
  await enforced(YES)
  await api.apply(onRule)
  await reported('NotAccepted', 'SecurityPolicy default/earlier')
  await api.delete(onRule)
  await enforced(YES)
})

test('a narrower route without a policy is named', async () => {
  const narrower = route('narrower', '/app/files', 'app', toBackend())
  await enforced(YES)
  await api.apply(narrower)
  await reported('Bypassed', 'HTTPRoute default/narrower')
  await api.delete(narrower)
  await enforced(YES)
})

/** As long as the API server allows. */
const LONGEST = 'n'.repeat(253)

test('a route with the longest name is protected', async () => {
  await api.apply(route(LONGEST, '/longest', 'app', toBackend()))
  await answers('/longest', 200)
  const policy = { ...protect(LONGEST), metadata: { name: 'longest' } }
  await api.apply(policy)
  await enforced(YES, 'longest')
  await answers('/longest', 401)
  await api.delete(policy)
})

test('a made-up probe is refused, and proves nothing', async () => {
  const headers = { 'gatehouse-probe': 'abc.def' }
  const answer = await send(ORIGIN, '/app', { headers })
  expect(answer.status).toBe(403)
  expect(answer.headers['gatehouse-probed']).toBeUndefined()
})

test('a policy protects its route, and others go on', async () => {
  const token = await signToken({ key, claims: { iss: ISSUER } })
  expect(await send(ORIGIN, '/app', { headers: bearer(token) })).toMatchObject({ status: 200 })
  expect((await send(ORIGIN, '/public')).status).toBe(200)
})

test('the objects are owned by the Gateway of their namespace', async () => {
  const gateway = await api.get('gateway.networking.k8s.io/v1', 'Gateway', 'eg')
  const { uid } = gateway.metadata as { readonly uid?: string }
  expect(await securityPolicy()).toMatchObject({
    metadata: { ownerReferences: [{ kind: 'Gateway', name: 'eg', uid }] },
  })
})

test('an object that is deleted is applied again', async () => {
  const before = await securityPolicy()
  await api.delete(before)
  await eventually(async () => {
    expect(uidOf(await securityPolicy())).not.toBe(uidOf(before))
  }, PATIENCE)
  await answers('/app', 401)
})

const uidOf = ({ metadata }: AnyObject): unknown => (metadata as { readonly uid?: string }).uid

test('a policy that is deleted takes its objects with it', async () => {
  await api.delete(protect('app'))
  await answers('/app', 200)
  await expect(securityPolicy()).rejects.toThrow('404')
})

test('a policy that the mesh cannot carry closes its route', async () => {
  await api.apply(
    proxyPolicy('app', 'app', {
      authorization: { policy: { matchExpressions: ['mcp.method == "initialize"'] } },
    }),
  )
  await answers('/app', 503)
  expect((await send(ORIGIN, '/public')).status).toBe(200)
})

test('the roles of the chart are enough for all of it', async () => {
  // What is read, applied, probed and written for a policy.
  await api.delete(await securityPolicy())
  await eventually(() => securityPolicy(), PATIENCE)
  await enforced(YES)
  rolesAreEnough()
})

test('an object of another manager with the same name stays as it is', async () => {
  const theirs = {
    apiVersion: ENVOY_GATEWAY,
    kind: 'SecurityPolicy',
    metadata: { name: 'gatehouse-public' },
    spec: {
      targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'public' }],
      cors: { allowOrigins: ['https://app.example'] },
    },
  }
  await api.apply(theirs)
  await api.apply(protect('public'))
  await eventually(() => {
    expect(replica.log()).toContain('SecurityPolicy default/gatehouse-public exists already')
  }, PATIENCE)
  expect(await securityPolicy('gatehouse-public')).toMatchObject({ spec: theirs.spec })
  await api.delete(protect('public'))
  await answers('/app', 401)
  expect(await securityPolicy('gatehouse-public')).toMatchObject({ spec: theirs.spec })
  await api.delete(theirs)
})

test('another replica takes over what the first has applied', async () => {
  const second = await start('two', `${ADDRESS}:18006`, `${ADDRESS}:18010`)
  const before = await securityPolicy()
  await replica.stop()
  replica = second
  await api.delete(protect('app'))
  await answers('/app', 200)
  await expect(securityPolicy()).rejects.toThrow('404')
  expect(before.metadata).toMatchObject({
    labels: { 'policy.gatehouse.dev/controller': 'default.gatehouse' },
  })
})
