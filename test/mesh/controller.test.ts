// serve --kubernetes --for envoy-gateway beside a real Envoy Gateway with an API server: it applies what makes the Envoys
// ask it, keeps it applied, removes what is no longer wanted, and leaves the objects of others alone.

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { AnyObject } from '../kubernetes/support/api-call.js'
import { ADDRESS, type ApiServer, startApiServer } from '../kubernetes/support/api-server.js'
import { type Replica, startReplica } from '../kubernetes/support/replica.js'
import { type Backend, startBackend } from '../support/backend.js'
import { eventually } from '../support/eventually.js'
import { bearer, send } from '../support/http.js'
import { proxyPolicy } from '../support/resources.js'
import { keySet, newKey, signToken } from '../support/tokens.js'
import { furtherDefinitions } from './support/definitions.js'
import { type EnvoyGateway, startEnvoyGateway } from './support/envoy-gateway.js'
import { serviceTo } from './support/istio.js'
import { gatewayDocumentsFor, route } from './support/resources.js'

/** With an API server, Envoy Gateway itself listens on port 8080. */
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
    kubeconfig: await api.kubeconfig(),
    grpc,
    flags: [
      ...['--for', 'envoy-gateway', '--route-key', 'envoy-gateway'],
      ...['--connect', GRPC, '--closed', closed],
    ],
  })

beforeAll(async () => {
  api = await startApiServer()
  await api.apply(...furtherDefinitions('GATEHOUSE_TEST_ENVOY_GATEWAY_DEFINITIONS'))
  backend = await startBackend('app', { host: ADDRESS })
  // A new kind is served a moment later.
  await eventually(() =>
    api.apply(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'envoy-gateway-system' } },
      ...gatewayDocumentsFor(PORT),
      route('app', '/app', 'app', toBackend()),
      route('public', '/public', 'app', toBackend()),
      ...serviceTo('app', backend.port),
    ),
  )
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

/** Waits until a request without a token gets this status. */
const answers = (path: string, status: number): Promise<void> =>
  eventually(async () => {
    expect((await send(ORIGIN, path)).status).toBe(status)
  }, PATIENCE)

const securityPolicy = (name = 'gatehouse-app') => api.get(ENVOY_GATEWAY, 'SecurityPolicy', name)

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
