// What is written into the objects' status, by which replica, and what is left unchanged.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SUPPORTED_FEATURES } from '../../src/control/translate/status/supported-features.js'
import type { AnyObject } from '../../testing/api-call.js'
import type { ApiServer } from '../../testing/api-server.js'
import { eventually } from '../../testing/eventually.js'
import { type Replica, startReplica } from '../../testing/replica.js'
import { gateway, httpRoute } from '../support/resources.js'
import { gatewayClass, policy, service } from './support/objects.js'
import { apiServerFor } from './support/shared-api-server.js'

const GATEWAY_API = 'gateway.networking.k8s.io/v1'
const OURS = 'policy.gatehouse.dev/v1alpha1'
const CONTROLLER = 'policy.gatehouse.dev/gatehouse'
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/default/leases'

let api: ApiServer
let one: Replica
let two: Replica

const rule = (expression: string, name = 'rule'): object =>
  policy(name, { authorization: { policy: { matchExpressions: [expression] } } })

interface Entry {
  readonly controllerName: string
  readonly conditions: readonly {
    readonly type: string
    readonly status: string
    readonly message: string
    readonly observedGeneration: number
    readonly lastTransitionTime: string
  }[]
}

async function ancestorsOf(name: string): Promise<readonly Entry[]> {
  const { status } = await api.get(OURS, 'ProxyPolicy', name)
  return (status as { ancestors?: readonly Entry[] } | undefined)?.ancestors ?? []
}

const ours = async (name: string): Promise<Entry | undefined> =>
  (await ancestorsOf(name)).find(({ controllerName }) => controllerName === CONTROLLER)

const foreign = (index: number): object => ({
  ancestorRef: { group: 'gateway.networking.k8s.io', kind: 'Gateway', name: `g${String(index)}` },
  controllerName: 'example.com/other',
  conditions: [
    {
      type: 'Accepted',
      status: 'True',
      reason: 'Accepted',
      message: 'theirs',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    },
  ],
})

async function putStatus(object: AnyObject, status: object): Promise<void> {
  const path = `/apis/${OURS}/namespaces/default/proxypolicies/${object.metadata.name ?? ''}/status`
  await api.call('PUT', path, { ...object, status })
}

beforeAll(async () => {
  const theirs = gateway([8081], 'theirs')
  api = await apiServerFor()
  await api.apply(
    gatewayClass(),
    gatewayClass('theirs', 'example.com/other'),
    gateway([8080]),
    { ...theirs, spec: { ...theirs.spec, gatewayClassName: 'theirs' } },
    service('app'),
    httpRoute('app', { rules: [{ backendRefs: [{ name: 'app', port: 80 }] }] }),
    rule('true'),
  )
  one = await startReplica({ kubeconfig: await api.kubeconfig(), name: 'one' })
  await eventually(() => expect(one.log()).toContain('this replica writes status'))
  two = await startReplica({ kubeconfig: await api.kubeconfig(), name: 'two' })
})

afterAll(async () => {
  await Promise.all([one.stop(), two.stop()])
  await api.close()
})

describe('the status of a Gateway and its route', () => {
  test('is what people look for', async () => {
    await eventually(async () => {
      expect((await api.get(GATEWAY_API, 'GatewayClass', 'gatehouse')).status).toMatchObject({
        conditions: [{ type: 'Accepted', status: 'True' }],
        supportedFeatures: SUPPORTED_FEATURES.map((name) => ({ name })),
      })
      expect((await api.get(GATEWAY_API, 'Gateway', 'gw')).status).toMatchObject({
        conditions: [
          { type: 'Accepted', status: 'True', observedGeneration: 1 },
          { type: 'Programmed', status: 'True' },
        ],
        listeners: [{ name: 'http-8080', attachedRoutes: 1 }],
      })
      expect((await api.get(GATEWAY_API, 'HTTPRoute', 'app')).status).toMatchObject({
        parents: [
          {
            parentRef: { name: 'gw' },
            controllerName: CONTROLLER,
            conditions: [
              { type: 'Accepted', status: 'True' },
              { type: 'ResolvedRefs', status: 'True' },
            ],
          },
        ],
      })
    })
  })
})

describe('the addresses of a Gateway', () => {
  const addresses = async (): Promise<unknown> => {
    const { status } = await api.get(GATEWAY_API, 'Gateway', 'gw')
    return (status as { addresses?: unknown } | undefined)?.addresses
  }
  const write = (list: readonly object[]): Promise<unknown> =>
    api.call('PATCH', `/apis/${GATEWAY_API}/namespaces/default/gateways/gw/status`, {
      status: { addresses: list },
    })
  const named = {
    ...service('envoys'),
    metadata: { name: 'envoys', labels: { 'gateway.networking.k8s.io/gateway-name': 'gw' } },
  }
  const theirs = [{ type: 'IPAddress', value: '192.0.2.7' }]

  test('stay as another writer set them while no Service is known', async () => {
    await write(theirs)
    const second = httpRoute('second', { rules: [{ backendRefs: [{ name: 'app', port: 80 }] }] })
    await api.apply(second)
    await eventually(async () =>
      expect((await api.get(GATEWAY_API, 'Gateway', 'gw')).status).toMatchObject({
        listeners: [{ attachedRoutes: 2 }],
      }),
    )
    expect(await addresses()).toEqual(theirs)
    await api.delete(second)
  })

  test('are those of the labelled Service, and are removed with it', async () => {
    await api.apply(named)
    const { spec } = await api.get('v1', 'Service', 'envoys')
    const { clusterIP } = spec as { readonly clusterIP: string }
    await eventually(async () =>
      expect(await addresses()).toEqual([{ type: 'IPAddress', value: clusterIP }]),
    )
    await api.call('PATCH', '/api/v1/namespaces/default/services/envoys', {
      spec: { type: 'LoadBalancer' },
    })
    await eventually(async () => expect(await addresses()).toEqual([]))
    await api.call('PATCH', '/api/v1/namespaces/default/services/envoys/status', {
      status: { loadBalancer: { ingress: [{ ip: '192.0.2.8' }] } },
    })
    await eventually(async () =>
      expect(await addresses()).toEqual([{ type: 'IPAddress', value: '192.0.2.8' }]),
    )
    await api.delete(named)
    await eventually(async () => expect(await addresses()).toEqual([]))
    await write(theirs)
    await eventually(async () => expect(await addresses()).toEqual(theirs))
  })
})

test('the status of a Gateway of another controller is left alone', async () => {
  for (const kind of ['GatewayClass', 'Gateway'])
    expect((await api.get(GATEWAY_API, kind, 'theirs')).status).toMatchObject({
      conditions: expect.arrayContaining([
        expect.objectContaining({ type: 'Accepted', status: 'Unknown' }),
      ]) as unknown,
    })
})

describe('a policy on a Gateway', () => {
  const target = (name: string, sectionName?: string): object => ({
    group: 'gateway.networking.k8s.io',
    kind: 'Gateway',
    name,
    ...(sectionName !== undefined && { sectionName }),
  })
  const deny = { action: 'Deny', policy: { matchExpressions: ['false'] } }
  const onGateway = (name: string, ...targetRefs: readonly object[]): AnyObject => {
    const made = policy(name, { authorization: deny }) as AnyObject
    return { ...made, spec: { ...(made['spec'] as object), targetRefs } }
  }

  test('says that the policies of all its routes replace it, and those say so too', async () => {
    await api.apply(onGateway('defaults', target('gw')))
    await eventually(async () => {
      expect(await ancestorsOf('defaults')).toMatchObject([
        {
          ancestorRef: { kind: 'Gateway', name: 'gw', namespace: 'default' },
          conditions: [
            {
              type: 'Accepted',
              status: 'True',
              message: expect.stringContaining(
                'Replaced: traffic.authorization by ProxyPolicy default/rule on HTTPRoute default/app',
              ) as string,
            },
            { type: 'Attached', status: 'True', reason: 'Overridden' },
          ],
        },
      ])
      expect((await ours('rule'))?.conditions[0]?.message).toContain(
        'In force: traffic.authorization in place of ProxyPolicy default/defaults of the Gateway',
      )
    })
    await api.delete(onGateway('defaults', target('gw')))
    await eventually(async () =>
      expect((await ours('rule'))?.conditions[0]?.message).not.toContain('In force'),
    )
  })

  test('whose Gateway or listener is missing has a condition at its target', async () => {
    await api.apply(
      onGateway('nowhere', target('gatewey')),
      onGateway('nobody', target('gw', 'https')),
    )
    await eventually(async () => {
      expect(await ancestorsOf('nowhere')).toMatchObject([
        {
          ancestorRef: { kind: 'Gateway', name: 'gatewey' },
          conditions: [{}, { type: 'Attached', status: 'False', reason: 'TargetNotFound' }],
        },
      ])
      expect(await ancestorsOf('nobody')).toMatchObject([
        {
          conditions: [{}, { message: expect.stringContaining('has no listener https') as string }],
        },
      ])
    })
  })
})

describe('the status of a policy', () => {
  test('has the current problem and its generation', async () => {
    await api.apply(rule('no such'))
    await eventually(async () => {
      const [accepted, attached] = (await ours('rule'))?.conditions ?? []
      expect(accepted).toMatchObject({ type: 'Accepted', status: 'False', observedGeneration: 2 })
      expect(accepted?.message).toContain('matchExpressions[0]')
      expect(attached).toMatchObject({ type: 'Attached', status: 'False', observedGeneration: 2 })
    })
    await api.apply(rule('true'))
    await eventually(async () => {
      expect((await ours('rule'))?.conditions[0]).toMatchObject({
        status: 'True',
        observedGeneration: 3,
      })
    })
  })

  test('keeps what other controllers wrote, and never has more than 16 entries', async () => {
    await eventually(async () => {
      const object = await api.get(OURS, 'ProxyPolicy', 'rule')
      const mine = await ours('rule')
      await putStatus(object, {
        ancestors: [...Array.from({ length: 15 }, (_, index) => foreign(index)), mine],
      })
    })
    await api.apply(rule('1 == 1'))
    await eventually(async () => {
      const ancestors = await ancestorsOf('rule')
      expect(ancestors).toHaveLength(16)
      expect(ancestors.slice(0, 15)).toEqual(
        Array.from({ length: 15 }, (_, index) => expect.objectContaining(foreign(index)) as object),
      )
      expect(ancestors[15]?.conditions[0]).toMatchObject({ observedGeneration: 4 })
    })
    await eventually(async () => {
      const object = await api.get(OURS, 'ProxyPolicy', 'rule')
      await putStatus(object, {
        ancestors: Array.from({ length: 16 }, (_, index) => foreign(index)),
      })
    })
    await api.apply(rule('2 == 2'), rule('true', 'after'))
    await eventually(async () => expect(await ours('after')).toBeDefined())
    expect(await ancestorsOf('rule')).toHaveLength(16)
  })

  test('is written only when it has changed, by one replica alone', async () => {
    const version = async () =>
      (await api.get(OURS, 'ProxyPolicy', 'after')).metadata.resourceVersion
    const before = await version()
    // Another policy's change runs through both replicas.
    await api.apply(rule('3 == 3', 'other'))
    await eventually(async () => expect(await ours('other')).toBeDefined())
    await eventually(async () => expect(await two.status()).toMatch(/"name": ?"other"/))
    expect(await version()).toBe(before)
    expect(two.log()).not.toContain('this replica writes status')
  })

  test('is written again after it was wiped, though nothing else changes', async () => {
    const path = `/apis/${OURS}/namespaces/default/proxypolicies/other/status`
    await api.call('PATCH', path, { status: null })
    await eventually(async () =>
      expect((await ours('other'))?.conditions[0]).toMatchObject({ status: 'True' }),
    )
  })

  test('is written also while others change the object all the time', async () => {
    for (let round = 0; round < 30; round += 1) {
      const path = `/apis/${OURS}/namespaces/default/proxypolicies/other`
      await api.call('PATCH', path, { metadata: { labels: { round: String(round) } } })
      if (round === 10) await api.apply(rule('nonsense(', 'other'))
    }
    await eventually(async () =>
      expect((await ours('other'))?.conditions[0]).toMatchObject({ status: 'False' }),
    )
  })
})

describe('the replica that writes', () => {
  test('is followed by another one when it ends, at once', async () => {
    await one.stop()
    await eventually(() => expect(two.log()).toContain('this replica writes status'), 6_000)
    await api.apply(rule('4 == 4', 'late'))
    await eventually(async () => expect(await ours('late')).toBeDefined())
  })

  test('is followed by another one when it is killed, after the Lease has run out', async () => {
    const three = await startReplica({ kubeconfig: await api.kubeconfig(), name: 'three' })
    await two.stop('SIGKILL')
    // releases.test.ts waits for the whole duration.
    await api.call('PATCH', `${LEASES}/gatehouse`, { spec: { leaseDurationSeconds: 3 } })
    await eventually(() => expect(three.log()).toContain('this replica writes status'), 12_000)
    await api.apply(rule('5 == 5', 'later'))
    await eventually(async () => expect(await ours('later')).toBeDefined())
    await three.stop()
  })
})
