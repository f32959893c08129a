// Status of parts: each parentRef and each listener; and entries that belong to other controllers.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AnyObject, withoutConflict } from '../../testing/api-call.js'
import type { ApiServer } from '../../testing/api-server.js'
import { eventually } from '../../testing/eventually.js'
import { type Replica, startReplica } from '../../testing/replica.js'
import { gateway, httpRoute } from '../support/resources.js'
import { gatewayClass, policy, service } from './support/objects.js'
import { apiServerFor } from './support/shared-api-server.js'

const GATEWAY_API = 'gateway.networking.k8s.io/v1'
const OURS = 'policy.gatehouse.dev/v1alpha1'

let api: ApiServer
let replica: Replica

const RULES = [{ backendRefs: [{ name: 'app', port: 80 }] }]

async function statusOf<Status>(kind: string, name: string): Promise<Status> {
  return ((await api.get(GATEWAY_API, kind, name)).status ?? {}) as Status
}

const rule = (expression: string, name = 'rule'): object =>
  policy(name, { authorization: { policy: { matchExpressions: [expression] } } })

async function policySettles(name: string): Promise<void> {
  await api.apply(policy('rule', { later: true }))
  await eventually(async () => {
    const { metadata, status } = await api.get(OURS, 'ProxyPolicy', name)
    const { ancestors } = (status ?? {}) as {
      ancestors?: { conditions: { observedGeneration: number }[] }[]
    }
    expect(ancestors?.[0]?.conditions[0]?.observedGeneration).toBe(metadata.generation)
  })
}

/** Loosens the CRD: an older or newer one may allow what this Gatehouse does not know. */
async function loosenPolicies(): Promise<void> {
  const path =
    '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/proxypolicies.policy.gatehouse.dev'
  await withoutConflict(async () => {
    const definition = (await api.call('GET', path)) as AnyObject & {
      spec: { versions: { schema: { openAPIV3Schema: { properties: { spec: object } } } }[] }
    }
    const [version] = definition.spec.versions
    if (version === undefined) throw new Error('the CRD has no version')
    version.schema.openAPIV3Schema.properties.spec = {
      type: 'object',
      'x-kubernetes-preserve-unknown-fields': true,
    }
    await api.call('PUT', path, definition)
  })
  await eventually(async () => {
    const path = '/apis/policy.gatehouse.dev/v1alpha1/namespaces/default/proxypolicies?dryRun=All'
    const { spec } = await api.call('POST', path, policy('odd', { later: true }))
    expect(spec).toMatchObject({ traffic: { later: true } })
  })
}

beforeAll(async () => {
  api = await apiServerFor({ own: true })
  await api.apply(
    gatewayClass(),
    gateway([8080, 8081]),
    service('app'),
    service('theirs'),
    httpRoute('app', { rules: RULES }),
    rule('true'),
  )
  await loosenPolicies()
  replica = await startReplica({ kubeconfig: await api.kubeconfig() })
  await policySettles('rule')
})

afterAll(async () => {
  await replica.stop()
  await api.close()
})

test('attachedRoutes follows the routes, whatever else has changed before', async () => {
  const attached = async () =>
    (await statusOf<{ listeners: { attachedRoutes: number }[] }>('Gateway', 'gw')).listeners.map(
      ({ attachedRoutes }) => attachedRoutes,
    )
  await eventually(async () => expect(await attached()).toEqual([1, 1]))
  await api.apply(rule('1 == 1'))
  await policySettles('rule')
  await api.apply(rule('2 == 2'))
  await policySettles('rule')
  await api.apply(httpRoute('second', { rules: RULES }))
  await eventually(async () => expect(await attached()).toEqual([2, 2]))
})

test('each parentRef has its own answer, also where only the port tells them apart', async () => {
  await api.apply(
    httpRoute('ports', {
      parentRefs: [
        { name: 'gw', port: 8081 },
        { name: 'gw', port: 9999 },
      ],
      rules: RULES,
    }),
  )
  await eventually(async () =>
    expect(await statusOf('HTTPRoute', 'ports')).toMatchObject({
      parents: [
        { parentRef: { port: 8081 }, conditions: [{ type: 'Accepted', status: 'True' }, {}] },
        {
          parentRef: { port: 9999 },
          conditions: [{ type: 'Accepted', status: 'False', reason: 'NoMatchingParent' }, {}],
        },
      ],
    }),
  )
})

test('a parent of another kind is ignored, though it has the name of a Gateway', async () => {
  await api.apply(
    service('gw'),
    httpRoute('mesh', {
      parentRefs: [{ group: '', kind: 'Service', name: 'gw' }, { name: 'gw' }],
      rules: RULES,
    }),
  )
  await eventually(async () =>
    expect((await statusOf<{ parents: object[] }>('HTTPRoute', 'mesh')).parents).toMatchObject([
      { parentRef: { kind: 'Gateway', name: 'gw' } },
    ]),
  )
})

test('a BackendTLSPolicy that no Gateway of Gatehouse uses is left alone', async () => {
  const tls = (name: string) => ({
    apiVersion: GATEWAY_API,
    kind: 'BackendTLSPolicy',
    metadata: { name },
    spec: {
      targetRefs: [{ group: '', kind: 'Service', name }],
      validation: { wellKnownCACertificates: 'System', hostname: 'app.example' },
    },
  })
  await api.apply(tls('theirs'), tls('app'))
  await eventually(async () =>
    expect(await statusOf('BackendTLSPolicy', 'app')).toMatchObject({ ancestors: [{}] }),
  )
  expect(await statusOf('BackendTLSPolicy', 'theirs')).toEqual({})
})

test('supportedKinds are those that the listener may and can have', async () => {
  const listener = (name: string, port: number, kinds: object[], protocol = 'HTTP') => ({
    name,
    port,
    protocol,
    allowedRoutes: { kinds },
  })
  await api.apply(
    gateway(
      [
        listener('mixed', 8090, [{ kind: 'HTTPRoute' }, { kind: 'GRPCRoute' }]),
        listener('none', 8091, [{ kind: 'GRPCRoute' }]),
        listener('tcp', 8092, [], 'TCP'),
      ],
      'kinds',
    ),
  )
  await eventually(async () =>
    expect((await statusOf<{ listeners: object[] }>('Gateway', 'kinds')).listeners).toMatchObject([
      { name: 'mixed', supportedKinds: [{ kind: 'HTTPRoute' }] },
      { name: 'none', supportedKinds: [] },
      { name: 'tcp', supportedKinds: [] },
    ]),
  )
})

test('a Gateway with the port of another one has a note, and no conflict: each has its Envoys', async () => {
  await api.apply(gateway([8080], 'neighbour'))
  await eventually(async () => {
    const { listeners } = await statusOf<{ listeners: { conditions: object[] }[] }>(
      'Gateway',
      'neighbour',
    )
    expect(listeners[0]?.conditions).toEqual([
      expect.objectContaining({
        type: 'Accepted',
        status: 'True',
        message: expect.stringContaining('Gateway default/gw has port 8080 too') as string,
      }),
      expect.objectContaining({ type: 'Programmed', status: 'True' }),
      expect.objectContaining({ type: 'ResolvedRefs', status: 'True' }),
    ])
  })
})

test('a policy that cannot be decoded reports its new generation, at the parents of the old one', async () => {
  await api.apply(policy('rule', { later: true }))
  await eventually(async () => {
    const { metadata, status } = await api.get(OURS, 'ProxyPolicy', 'rule')
    expect(status).toMatchObject({
      ancestors: [
        {
          ancestorRef: { kind: 'Gateway', name: 'gw' },
          conditions: [
            {
              type: 'Accepted',
              status: 'False',
              reason: 'Invalid',
              observedGeneration: metadata.generation,
            },
            { type: 'Attached', status: 'True' },
          ],
        },
      ],
    })
  })
})
