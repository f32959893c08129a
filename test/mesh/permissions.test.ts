// Each permission that the chart adds for a mesh is needed: when it alone is missing, the log or Enforced names it. Needs the
// CRDs of the meshes alone, none of their programs.

import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { PROBED_HEADER } from '../../src/ir/names.js'
import { aboutRequest, createProbeSigns, probeAnswerText } from '../../src/probes/probe-signs.js'
import type { AnyObject } from '../../testing/api-call.js'
import { ADDRESS, type ApiServer, startApiServer } from '../../testing/api-server.js'
import { eventually } from '../../testing/eventually.js'
import { type Replica, startReplica } from '../../testing/replica.js'
import { gatewayClass } from '../kubernetes/support/objects.js'
import { type Missing, permissionsOf, rolesFor } from '../kubernetes/support/roles.js'
import { proxyPolicy } from '../support/resources.js'
import { keySet, newKey } from '../support/tokens.js'
import { furtherDefinitions } from './support/definitions.js'
import { CONTROLLER } from './support/envoy-gateway.js'

const PATIENCE = 30_000
const LABEL = { 'policy.gatehouse.dev/controller': 'default.gatehouse' }
const GATEWAY_API = 'gateway.networking.k8s.io/v1'
const GRANTS = 'gateway.networking.k8s.io/v1beta1'
const ENVOY_FILTER = 'networking.istio.io/v1alpha3'
const ENVOY_GATEWAY = 'gateway.envoyproxy.io/v1alpha1'

const POLICY = '/apis/policy.gatehouse.dev/v1alpha1/namespaces/default/proxypolicies/mcp'
/** In another namespace than the route, which then needs a ReferenceGrant in Envoy Gateway. */
const CONNECT = 'gatehouse.kube-public.svc.cluster.local:18000'

let api: ApiServer
/** Stands for the Envoy of the Gateway. */
let envoy: Server
let port = 0
const DOCUMENTS_KEY = 'default/gatehouse-documents-mcp/0'

/** Whether the stand-in answers probes as if the route were open. */
let isOpen = false
let replica: Replica | undefined
let users = 0

/** An object that was applied earlier, and that no route needs any more. */
const leftOver = (apiVersion: string, kind: string, spec: object, name = 'old'): object => ({
  ...{ apiVersion, kind, spec },
  metadata: { name, namespace: 'kube-public', labels: LABEL },
})

const toOldRoute = {
  targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'old' }],
}

const oldRoute = leftOver(GATEWAY_API, 'HTTPRoute', { parentRefs: [{ name: 'none' }] })

/** A mesh, as far as Gatehouse notices it. */
interface Mesh {
  readonly name: 'istio' | 'envoy-gateway'
  readonly controller: string
  readonly flags: readonly string[]
  /** By the plural of their kind. */
  readonly leftOvers: Readonly<Record<string, object>>
  /** What the policy needs. */
  readonly needed: readonly string[]
}

const istio: Mesh = {
  name: 'istio',
  controller: 'istio.io/gateway-controller',
  flags: ['--for', 'istio', '--connect', CONNECT],
  leftOvers: {
    envoyfilters: leftOver(ENVOY_FILTER, 'EnvoyFilter', {
      configPatches: [{ applyTo: 'CLUSTER', patch: { operation: 'MERGE', value: {} } }],
    }),
    httproutes: oldRoute,
    services: leftOver('v1', 'Service', { ports: [{ port: 80 }] }, 'gatehouse-closed'),
  },
  needed: [
    'EnvoyFilter gatehouse-edge',
    'EnvoyFilter gatehouse.default.mcp',
    'HTTPRoute gatehouse-documents-mcp',
    'Secret gatehouse-probe',
    'Service gatehouse-closed',
  ],
}

const envoyGateway: Mesh = {
  name: 'envoy-gateway',
  controller: CONTROLLER,
  flags: [
    ...['--for', 'envoy-gateway', '--route-key', 'envoy-gateway'],
    ...['--connect', CONNECT, '--closed', '127.0.0.1:18009'],
  ],
  leftOvers: {
    clienttrafficpolicies: leftOver(ENVOY_GATEWAY, 'ClientTrafficPolicy', {
      targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'old' }],
    }),
    securitypolicies: leftOver(ENVOY_GATEWAY, 'SecurityPolicy', toOldRoute),
    envoyextensionpolicies: leftOver(ENVOY_GATEWAY, 'EnvoyExtensionPolicy', toOldRoute),
    backendtrafficpolicies: leftOver(ENVOY_GATEWAY, 'BackendTrafficPolicy', toOldRoute),
    httproutes: oldRoute,
    referencegrants: leftOver(GRANTS, 'ReferenceGrant', {
      from: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', namespace: 'default' }],
      to: [{ group: '', kind: 'Service' }],
    }),
  },
  needed: [
    'BackendTrafficPolicy gatehouse-mcp',
    'ClientTrafficPolicy gatehouse-edge',
    'EnvoyExtensionPolicy gatehouse-documents-mcp',
    'HTTPRoute gatehouse-documents-mcp',
    'ReferenceGrant gatehouse',
    'ReferenceGrant gatehouse-closed',
    'Secret gatehouse-probe',
    'SecurityPolicy gatehouse-documents-mcp',
    'SecurityPolicy gatehouse-mcp',
  ],
}

const gatewayOf = ({ name }: Mesh): object => ({
  apiVersion: GATEWAY_API,
  kind: 'Gateway',
  metadata: { name: 'edge' },
  spec: {
    gatewayClassName: name,
    addresses: [{ type: 'IPAddress', value: ADDRESS }],
    listeners: [{ name: 'http', protocol: 'HTTP', port }],
  },
})
const route = {
  apiVersion: GATEWAY_API,
  kind: 'HTTPRoute',
  metadata: { name: 'mcp' },
  spec: {
    parentRefs: [{ name: 'edge' }],
    rules: [{ matches: [{ path: { type: 'PathPrefix', value: '/mcp' } }] }],
  },
}
const KEYS = JSON.stringify(keySet(await newKey('k1')))

/** Needs objects of every kind that the controller applies, with a Service for Gatehouse. */
const policy = proxyPolicy('mcp', 'mcp', {
  jwtAuthentication: {
    mode: 'Strict',
    providers: [{ issuer: 'https://idp.example', audiences: ['mcp'], jwks: { inline: KEYS } }],
    mcp: { metadataIssuer: 'Provider', resourceMetadata: { resource: 'https://app.example/mcp' } },
  },
})

beforeAll(async () => {
  api = await startApiServer()
  envoy = createServer((request, response) => {
    const answered = answerProbe(request.headers, request.url ?? '')
    // Without the Secret, there is no proof.
    void answered
      .catch(() => undefined)
      .then((answer) => {
        if (isOpen || answer === undefined) response.writeHead(200).end()
        else response.writeHead(403, { [PROBED_HEADER]: answer }).end()
      })
  }).listen(0, ADDRESS)
  await once(envoy, 'listening')
  port = (envoy.address() as AddressInfo).port
  await api.apply(
    ...furtherDefinitions('GATEHOUSE_TEST_ISTIO_DEFINITIONS'),
    ...furtherDefinitions('GATEHOUSE_TEST_ENVOY_GATEWAY_DEFINITIONS'),
  )
}, 120_000)

/** Answers a probe as Gatehouse does. */
async function answerProbe(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  path: string,
): Promise<string | undefined> {
  const question = String(headers['gatehouse-probe'])
  const { data } = (await api.get('v1', 'Secret', 'gatehouse-probe')) as unknown as {
    readonly data: { readonly key: string }
  }
  const signs = createProbeSigns(() => Buffer.from(data.key, 'base64'), Date.now)
  const about = aboutRequest('default/mcp/0', String(headers['host']), path)
  const proof = signs.prove(question, 'ext_authz', about)
  const isDocument = path.startsWith('/.well-known/')
  const ofDocument = isDocument ? signs.prove(question, 'ext_proc', [DOCUMENTS_KEY]) : undefined
  return (
    proof &&
    probeAnswerText({ question, proofs: { ext_authz: proof, ext_proc: ofDocument ?? '-' } })
  )
}

afterEach(async () => {
  isOpen = false
  await replica?.stop()
  replica = undefined
  for (const { object } of await created()) await api.delete(object)
  await api.call('PATCH', `${POLICY}/status`, { status: null })
})

afterAll(async () => {
  envoy.close()
  await api.close()
})

const LISTS: readonly (readonly [apiVersion: string, kind: string, plural: string])[] = [
  [ENVOY_FILTER, 'EnvoyFilter', 'envoyfilters'],
  [ENVOY_GATEWAY, 'SecurityPolicy', 'securitypolicies'],
  [ENVOY_GATEWAY, 'EnvoyExtensionPolicy', 'envoyextensionpolicies'],
  [ENVOY_GATEWAY, 'BackendTrafficPolicy', 'backendtrafficpolicies'],
  [ENVOY_GATEWAY, 'ClientTrafficPolicy', 'clienttrafficpolicies'],
  [ENVOY_GATEWAY, 'Backend', 'backends'],
  [GATEWAY_API, 'HTTPRoute', 'httproutes'],
  [GRANTS, 'ReferenceGrant', 'referencegrants'],
  ['v1', 'Service', 'services'],
  ['v1', 'Secret', 'secrets'],
]

interface Created {
  readonly object: AnyObject
  readonly path: string
}

/** What Gatehouse has created. */
async function created(): Promise<readonly Created[]> {
  const found = await Promise.all(
    LISTS.map(async ([apiVersion, kind, plural]) => {
      const group = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`
      const { items } = (await api.call('GET', `${group}/${plural}`)) as unknown as {
        items: AnyObject[]
      }
      return items.map((item): Created => {
        const { namespace = '', name = '' } = item.metadata
        const path = `${group}/namespaces/${namespace}/${plural}/${name}`
        return { object: { ...item, apiVersion, kind }, path }
      })
    }),
  )
  return found
    .flat()
    .filter(
      ({ object: { metadata } }) =>
        metadata.name?.endsWith('-probe') === true ||
        JSON.stringify(metadata).includes('policy.gatehouse.dev/controller'),
    )
}

async function namesCreated(): Promise<readonly string[]> {
  const all = await created()
  return all.map(({ object: { kind, metadata } }) => `${kind} ${metadata.name ?? ''}`).sort()
}

/** Accepts all that was created, as a mesh does. */
async function accept({ controller }: Mesh): Promise<void> {
  const ref = { group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'edge' }
  const conditions = [
    {
      ...{ type: 'Accepted', status: 'True', reason: 'Accepted', message: '' },
      lastTransitionTime: '2026-01-01T00:00:00Z',
    },
  ]
  const entry = { controllerName: controller, conditions }
  for (const { object, path } of await created()) {
    if (object.kind === 'HTTPRoute')
      await api.call('PATCH', `${path}/status`, {
        status: { parents: [{ ...entry, parentRef: ref }] },
      })
    if (object.kind.endsWith('Policy'))
      await api.call('PATCH', `${path}/status`, {
        status: { ancestors: [{ ...entry, ancestorRef: { ...ref, namespace: 'default' } }] },
      })
  }
}

async function start({ name, flags }: Mesh, without?: Missing): Promise<Replica> {
  users += 1
  const user = `guest-${String(users)}`
  await api.apply(...rolesFor(user, { mesh: name }, without))
  replica = await startReplica({
    kubeconfig: await api.kubeconfig(user),
    name: user,
    flags,
  })
  return replica
}

async function enforcedMessage(): Promise<string> {
  const { status } = await api.get('policy.gatehouse.dev/v1alpha1', 'ProxyPolicy', 'mcp')
  return JSON.stringify(status)
}

const plain = permissionsOf({})
const isAdded = ({ group, resource }: Missing['permission'], verb: string): boolean =>
  !plain.some(
    (other) => other.group === group && other.resource === resource && other.verbs.includes(verb),
  )

/** Each verb that the value adds, apart from writing Events. */
const rowsOf = (mesh: Mesh) =>
  permissionsOf({ mesh: mesh.name }).flatMap((permission) =>
    permission.verbs
      .filter((verb) => isAdded(permission, verb) && permission.resource !== 'events')
      .map((verb): readonly [string, string, Missing] => [
        verb,
        permission.resource,
        { permission, verb },
      ]),
  )

const events: Missing = {
  permission: { group: 'events.k8s.io', resource: 'events', verbs: ['create'] },
  verb: 'create',
}

describe.each([istio, envoyGateway])('for $name', (mesh) => {
  beforeAll(async () => {
    // A new kind is served a moment later.
    await eventually(() =>
      api.apply(gatewayClass(mesh.name, mesh.controller), gatewayOf(mesh), route, policy),
    )
  })

  test.each(rowsOf(mesh))(
    'without the permission to %s %s, it is named',
    async (verb, resource, missing) => {
      const old = verb === 'delete' ? mesh.leftOvers[resource] : undefined
      if (old !== undefined) await api.apply(old)
      const running = await start(mesh, missing)
      const refusal =
        verb === 'watch'
          ? 'it cannot be watched: HTTP 403'
          : `cannot ${verb} resource \\"${resource}\\"`
      await eventually(async () => {
        expect(`${running.log()}${await enforcedMessage()}`).toContain(refusal)
      }, PATIENCE)
    },
  )

  test('without the permission to create events, the log names it when a route opens', async () => {
    const running = await start(mesh, events)
    await eventually(async () => {
      await accept(mesh)
      expect(await enforcedMessage()).toContain('"reason":"Enforced"')
    }, PATIENCE)
    isOpen = true
    await eventually(() => {
      expect(running.log()).toContain('the Event on ProxyPolicy default/mcp cannot be written')
      expect(running.log()).toContain('cannot create resource \\"events\\"')
    }, PATIENCE)
  })

  test('with all of them, everything is applied, and nothing is refused', async () => {
    await api.apply(...Object.values(mesh.leftOvers))
    const running = await start(mesh)
    await eventually(async () => {
      expect(await namesCreated()).toEqual(mesh.needed)
    }, PATIENCE)
    expect(running.log()).not.toContain('forbidden')
  })
})
