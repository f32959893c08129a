// ListenerSets in a cluster: their status, the routes that are attached to them, and a cluster without their CRD.

import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ApiServer } from '../../testing/api-server.js'
import { eventually } from '../../testing/eventually.js'
import { type Replica, startReplica } from '../../testing/replica.js'
import { gateway, httpRoute } from '../support/resources.js'
import { gatewayClass, service } from './support/objects.js'
import { apiServerFor } from './support/shared-api-server.js'

const GATEWAY_API = 'gateway.networking.k8s.io/v1'
const CRD =
  '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/listenersets.gateway.networking.k8s.io'

interface Condition {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly observedGeneration?: number
}

let api: ApiServer
let replica: Replica
let definition: object

const statusOf = async <Status>(kind: string, name: string): Promise<Status> =>
  ((await api.get(GATEWAY_API, kind, name)).status ?? {}) as Status

const set = {
  apiVersion: GATEWAY_API,
  kind: 'ListenerSet',
  metadata: { name: 'team', namespace: 'default' },
  spec: {
    parentRef: { name: 'gw' },
    listeners: [
      { name: 'team', port: 8080, protocol: 'HTTP', hostname: 'team.example' },
      { name: 'taken', port: 8080, protocol: 'HTTP', hostname: 'gw.example' },
    ],
  },
}

beforeAll(async () => {
  api = await apiServerFor({ own: true })
  definition = await api.call('GET', CRD)
  await api.call('DELETE', CRD)
  const { spec, ...own } = gateway([
    { name: 'http', port: 8080, protocol: 'HTTP', hostname: 'gw.example' },
  ])
  await api.apply(
    gatewayClass('gatehouse'),
    { ...own, spec: { ...spec, allowedListeners: { namespaces: { from: 'Same' } } } },
    service('app'),
    httpRoute('team', {
      parentRefs: [{ kind: 'ListenerSet', group: 'gateway.networking.k8s.io', name: 'team' }],
      rules: [{ backendRefs: [{ name: 'app', port: 80 }] }],
    }),
  )
  replica = await startReplica({ kubeconfig: await api.kubeconfig() })
})
afterAll(async () => {
  await replica.stop()
  await api.close()
})

test('a cluster without the kind is served, and the kind is followed when it is installed', async () => {
  await eventually(async () => {
    const { attachedListenerSets } = await statusOf<{ attachedListenerSets?: number }>(
      'Gateway',
      'gw',
    )
    expect(attachedListenerSets).toBe(0)
  })
  const { apiVersion, kind, spec } = definition as Record<string, object>
  await api.apply({
    apiVersion,
    kind,
    spec,
    metadata: {
      name: 'listenersets.gateway.networking.k8s.io',
      annotations: (definition as { metadata: { annotations: object } }).metadata.annotations,
    },
  })
  await eventually(() => api.apply(set))
  await eventually(async () => {
    const { conditions = [] } = await statusOf<{ conditions?: Condition[] }>('ListenerSet', 'team')
    expect(conditions).toEqual([
      expect.objectContaining({ type: 'Accepted', status: 'True', reason: 'ListenersNotValid' }),
      expect.objectContaining({ type: 'Programmed', status: 'True', observedGeneration: 1 }),
    ])
  }, 30_000)
})

test('its listeners have conditions and the number of their routes, and the Gateway counts it', async () => {
  await eventually(async () => {
    const { listeners } = await statusOf<{ listeners: object[] }>('ListenerSet', 'team')
    expect(listeners).toEqual([
      expect.objectContaining({ name: 'team', attachedRoutes: 1 }),
      expect.objectContaining({
        name: 'taken',
        conditions: expect.arrayContaining([
          expect.objectContaining({ type: 'Conflicted', reason: 'HostnameConflict' }),
        ]) as unknown,
      }),
    ])
    const { attachedListenerSets } = await statusOf<{ attachedListenerSets?: number }>(
      'Gateway',
      'gw',
    )
    expect(attachedListenerSets).toBe(1)
  })
})

test('the route has the conditions of its ListenerSet alone', async () => {
  await eventually(async () => {
    const { parents } = await statusOf<{ parents: { conditions: Condition[] }[] }>(
      'HTTPRoute',
      'team',
    )
    expect(parents).toEqual([
      expect.objectContaining({
        parentRef: { group: 'gateway.networking.k8s.io', kind: 'ListenerSet', name: 'team' },
      }),
    ])
    expect(parents[0]?.conditions).toContainEqual(
      expect.objectContaining({ type: 'Accepted', status: 'True' }),
    )
  })
})
