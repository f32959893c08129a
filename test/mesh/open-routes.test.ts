// What somebody else changes beside a real Envoy Gateway with an API server, and what opens a route without a word of the
// mesh: it is reported within ten seconds.

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type AnyObject, pathOf } from '../../testing/api-call.js'
import { ADDRESS, type ApiServer } from '../../testing/api-server.js'
import { eventually } from '../../testing/eventually.js'
import { type Replica, startReplica } from '../../testing/replica.js'
import { apiServerFor } from '../kubernetes/support/shared-api-server.js'
import { type Backend, startBackend } from '../support/backend.js'
import { both } from '../support/guardrails.js'
import { send } from '../support/http.js'
import { proxyPolicy } from '../support/resources.js'
import { keySet, newKey } from '../support/tokens.js'
import { furtherDefinitions } from './support/definitions.js'
import { untilEnforced, YES } from './support/enforced.js'
import { type EnvoyGateway, startEnvoyGateway } from './support/envoy-gateway.js'
import { serviceTo } from './support/istio.js'
import { gatewayDocumentsFor, route } from './support/resources.js'

/** Not 8080, on which Envoy Gateway itself listens beside an API server. */
const PORT = 8096
const ORIGIN = `http://127.0.0.1:${String(PORT)}`
const [GRPC, CLOSED] = [`${ADDRESS}:18005`, `${ADDRESS}:18009`]
const ENVOY_GATEWAY = 'gateway.envoyproxy.io/v1alpha1'
const PATIENCE = 60_000
const NOTICED_WITHIN = 10_000

const key = await newKey('k1')

let backend: Backend
let api: ApiServer
let mesh: EnvoyGateway
let replica: Replica

const targetRefs = [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'app' }]

beforeAll(async () => {
  api = await apiServerFor()
  await api.apply(...furtherDefinitions('GATEHOUSE_TEST_ENVOY_GATEWAY_DEFINITIONS'))
  backend = await startBackend('app', { host: ADDRESS })
  const more = { backendRefs: [{ name: 'app', port: backend.port }], name: 'main' }
  const webhook = { backendRef: { kind: 'Service', name: 'app', port: backend.port } }
  // A new kind is served a moment later.
  await eventually(() =>
    api.apply(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'envoy-gateway-system' } },
      ...gatewayDocumentsFor(PORT, { addresses: [{ type: 'IPAddress', value: ADDRESS }] }),
      route('app', '/app', 'app', more),
      ...serviceTo('app', backend.port),
      proxyPolicy('app', 'app', {
        jwtAuthentication: {
          mode: 'Strict',
          providers: [
            { issuer: 'https://idp.example', jwks: { inline: JSON.stringify(keySet(key)) } },
          ],
        },
      }),
      {
        apiVersion: 'policy.gatehouse.dev/v1alpha1',
        kind: 'ProxyPolicy',
        metadata: { name: 'guard' },
        spec: { targetRefs, backend: { ai: { promptGuard: both({ webhook }) } } },
      },
    ),
  )
  mesh = await startEnvoyGateway(api)
  replica = await startReplica({
    kubeconfig: await api.kubeconfig(),
    grpc: GRPC,
    flags: [
      '--for',
      'envoy-gateway',
      '--route-key',
      'envoy-gateway',
      '--connect',
      GRPC,
      '--closed',
      CLOSED,
    ],
  })
}, 300_000)

afterAll(async () => {
  await replica.stop()
  await mesh.close()
  await api.close()
  await backend.close()
})

beforeEach(async () => {
  await untilEnforced(api, YES)
  await untilEnforced(api, YES, 'guard')
  backend.requests.length = 0
}, PATIENCE)

type Spec = Readonly<Record<string, unknown>>

/** Waits until the condition Enforced of the policy says this, for as long as a change may go unnoticed. */
const untilSaid = (text: string): Promise<void> =>
  eventually(async () => {
    const { status } = await api.get('policy.gatehouse.dev/v1alpha1', 'ProxyPolicy', 'app')
    expect(JSON.stringify(status)).toContain(text)
  }, NOTICED_WITHIN)

/** With other members of its only ext_proc filter. */
const filtered =
  (more: object) =>
  ({ extProc }: Spec): object => ({
    extProc: (extProc as readonly object[]).map((each) => ({ ...each, ...more })),
  })

const misspelt = (): object => ({
  targetRefs: targetRefs.map((each) => ({ ...each, sectionName: 'misspelt' })),
})

const attributes = ['xds.route_name']

test.each<readonly [string, string, (spec: Spec) => object]>([
  ['a misspelt rule for the check', 'SecurityPolicy', misspelt],
  ['a misspelt rule for the guard', 'EnvoyExtensionPolicy', misspelt],
  [
    'errors that are forgiven, and buffered bodies',
    'EnvoyExtensionPolicy',
    filtered({
      failOpen: true,
      statusOnError: null,
      processingMode: {
        request: { body: 'Buffered', attributes },
        response: { body: 'Buffered', attributes },
      },
    }),
  ],
  [
    'replies that are not sent',
    'EnvoyExtensionPolicy',
    filtered({ processingMode: { request: { body: 'FullDuplexStreamed', attributes } } }),
  ],
])('an object with %s, written by somebody else, is reported', async (_, kind, change) => {
  const object = await api.get(ENVOY_GATEWAY, kind, 'gatehouse-app')
  const { spec } = object as AnyObject & { readonly spec: Spec }
  await api.call('PATCH', pathOf(object), { spec: change(spec) })
  await untilSaid(`${kind} default/gatehouse-app cannot be applied`)
  await api.delete(object)
})

/** An EnvoyPatchPolicy that takes what Gatehouse has added from the routes of the mesh, without a word in any status. */
const patch = {
  apiVersion: ENVOY_GATEWAY,
  kind: 'EnvoyPatchPolicy',
  metadata: { name: 'opening' },
  spec: {
    targetRef: { group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'eg' },
    type: 'JSONPatch',
    jsonPatches: [
      {
        type: 'type.googleapis.com/envoy.config.route.v3.RouteConfiguration',
        name: 'default/eg/http',
        operation: {
          op: 'remove',
          jsonPath:
            "$.virtual_hosts[*].routes[?(@.name=='httproute/default/app/rule/0/match/0/*')]",
          path: 'typed_per_filter_config',
        },
      },
    ],
  },
}

test('an open route whose backend answers 500 is reported', async () => {
  backend.answer((_request, response) => {
    response.writeHead(500).end()
  })
  await api.apply(patch)
  await eventually(async () => expect((await send(ORIGIN, '/app')).status).toBe(500), PATIENCE)
  const { headers } = await send(ORIGIN, '/app')
  expect(Object.keys(headers)).not.toContain('x-envoy-upstream-service-time')
  await untilSaid('answered 500 to GET /app')
  await untilEnforced(api, { status: 'False', reason: 'NotProven' })
  await api.delete(patch)
})
