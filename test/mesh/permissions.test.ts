// Each permission that the chart adds for a mesh is needed: when it alone is missing, the log or Enforced names it. Needs the
// CRDs of the mesh alone, none of its programs.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { AnyObject } from '../kubernetes/support/api-call.js'
import { type ApiServer, startApiServer } from '../kubernetes/support/api-server.js'
import { gatewayClass } from '../kubernetes/support/objects.js'
import { type Replica, startReplica } from '../kubernetes/support/replica.js'
import { type Missing, permissionsOf, rolesFor } from '../kubernetes/support/roles.js'
import { eventually } from '../support/eventually.js'
import { proxyPolicy } from '../support/resources.js'
import { keySet, newKey } from '../support/tokens.js'
import { furtherDefinitions } from './support/definitions.js'

const PATIENCE = 30_000
const VALUES = { mesh: 'istio' }
const LABEL = { 'policy.gatehouse.dev/controller': 'default.gatehouse' }
const ENVOY_FILTER = 'networking.istio.io/v1alpha3'

const POLICY = '/apis/policy.gatehouse.dev/v1alpha1/namespaces/default/proxypolicies/mcp'

let api: ApiServer
let replica: Replica | undefined
let users = 0

/** An object that was applied earlier, and that no route needs any more. */
const leftOver = (apiVersion: string, kind: string, name: string, spec: object): object => ({
  ...{ apiVersion, kind, spec },
  metadata: { name, namespace: 'kube-public', labels: LABEL },
})

const leftOvers: Readonly<Record<string, object>> = {
  envoyfilters: leftOver(ENVOY_FILTER, 'EnvoyFilter', 'old', {
    configPatches: [{ applyTo: 'CLUSTER', patch: { operation: 'MERGE', value: {} } }],
  }),
  httproutes: leftOver('gateway.networking.k8s.io/v1', 'HTTPRoute', 'old', {
    parentRefs: [{ name: 'none' }],
  }),
  services: leftOver('v1', 'Service', 'gatehouse-closed', { ports: [{ port: 80 }] }),
}

const gateway = {
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'Gateway',
  metadata: { name: 'edge' },
  spec: {
    gatewayClassName: 'istio',
    listeners: [{ name: 'http', protocol: 'HTTP', port: 80 }],
  },
}
const route = {
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'HTTPRoute',
  metadata: { name: 'mcp' },
  spec: {
    parentRefs: [{ name: 'edge' }],
    rules: [{ matches: [{ path: { type: 'PathPrefix', value: '/mcp' } }] }],
  },
}
const KEYS = JSON.stringify(keySet(await newKey('k1')))

/** Needs an EnvoyFilter, a route for its documents and the closed Service. */
const policy = proxyPolicy('mcp', 'mcp', {
  jwtAuthentication: {
    mode: 'Strict',
    providers: [{ issuer: 'https://idp.example', audiences: ['mcp'], jwks: { inline: KEYS } }],
    mcp: { metadataIssuer: 'Provider', resourceMetadata: { resource: 'https://app.example/mcp' } },
  },
})

beforeAll(async () => {
  api = await startApiServer()
  await api.apply(...furtherDefinitions('GATEHOUSE_TEST_ISTIO_DEFINITIONS'))
  // A new kind is served a moment later.
  await eventually(() =>
    api.apply(gatewayClass('istio', 'istio.io/gateway-controller'), gateway, route, policy),
  )
})

afterEach(async () => {
  await replica?.stop()
  replica = undefined
  for (const each of await created()) await api.delete(each)
  await api.call('PATCH', `${POLICY}/status`, { status: null })
})

afterAll(() => api.close())

/** What Gatehouse has created. */
async function created(): Promise<readonly AnyObject[]> {
  const lists = [
    [ENVOY_FILTER, 'EnvoyFilter', `/apis/${ENVOY_FILTER}/envoyfilters`],
    ['gateway.networking.k8s.io/v1', 'HTTPRoute', '/apis/gateway.networking.k8s.io/v1/httproutes'],
    ['v1', 'Service', '/api/v1/services'],
    ['v1', 'Secret', '/api/v1/secrets'],
  ] as const
  const found = await Promise.all(
    lists.map(async ([apiVersion, kind, path]) => {
      const { items } = (await api.call('GET', path)) as unknown as { items: AnyObject[] }
      return items.map((item) => ({ ...item, apiVersion, kind }))
    }),
  )
  return found
    .flat()
    .filter(
      ({ metadata }) =>
        metadata.name?.endsWith('-probe') === true ||
        JSON.stringify(metadata).includes('policy.gatehouse.dev/controller'),
    )
}

async function start(without?: Missing): Promise<Replica> {
  users += 1
  const user = `guest-${String(users)}`
  await api.apply(...rolesFor(user, VALUES, without))
  replica = await startReplica({
    kubeconfig: await api.kubeconfig(user),
    name: user,
    flags: ['--for', 'istio', '--connect', 'gatehouse.default.svc.cluster.local:18000'],
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

/** Each verb that the value adds. Events are written when a policy is no longer enforced, which needs a mesh. */
const rows = permissionsOf(VALUES).flatMap((permission) =>
  permission.verbs
    .filter((verb) => isAdded(permission, verb) && permission.resource !== 'events')
    .map((verb): readonly [string, string, Missing] => [
      verb,
      permission.resource,
      { permission, verb },
    ]),
)

describe('without the permission', () => {
  test.each(rows)('to %s %s, it is named', async (verb, resource, missing) => {
    const old = verb === 'delete' ? leftOvers[resource] : undefined
    if (old !== undefined) await api.apply(old)
    const running = await start(missing)
    const refusal =
      verb === 'watch'
        ? 'it cannot be watched: HTTP 403'
        : `cannot ${verb} resource \\"${resource}\\"`
    await eventually(async () => {
      expect(`${running.log()}${await enforcedMessage()}`).toContain(refusal)
    }, PATIENCE)
  })
})

test('with all of them, everything is applied, and nothing is refused', async () => {
  await api.apply(...Object.values(leftOvers))
  const running = await start()
  await eventually(async () => {
    const names = (await created()).map(({ kind, metadata }) => `${kind} ${metadata.name ?? ''}`)
    expect(names.sort()).toEqual([
      'EnvoyFilter gatehouse-edge',
      'EnvoyFilter gatehouse.default.mcp',
      'HTTPRoute gatehouse-documents-mcp',
      'Secret gatehouse-probe',
      'Service gatehouse-closed',
    ])
  }, PATIENCE)
  expect(running.log()).not.toContain('forbidden')
})
