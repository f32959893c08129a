// serve --kubernetes --provision: the objects of the Envoys for each Gateway, what the Gateway's status says of them, and
// what Gatehouse leaves alone.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PROVISION_FEATURES } from '../../src/control/translate/status/supported-features.js'
import { type AnyObject, ApiError } from '../../testing/api-call.js'
import type { ApiServer } from '../../testing/api-server.js'
import { eventually } from '../../testing/eventually.js'
import { type Replica, startReplica } from '../../testing/replica.js'
import { API_GROUP, gateway } from '../support/resources.js'
import { inNamespace } from './support/objects.js'
import { apiServerFor } from './support/shared-api-server.js'

const GATEWAY_API = 'gateway.networking.k8s.io/v1'
const CREATED = [
  ['v1', 'ServiceAccount'],
  ['v1', 'ConfigMap'],
  ['v1', 'Service'],
  ['apps/v1', 'Deployment'],
] as const

let api: ApiServer
let replica: Replica

beforeAll(async () => {
  api = await apiServerFor()
  await api.apply(
    parameters('of-class', { image: 'registry.example/envoy:1', serviceType: 'ClusterIP' }),
    {
      apiVersion: GATEWAY_API,
      kind: 'GatewayClass',
      metadata: { name: 'gatehouse' },
      spec: {
        controllerName: `${API_GROUP}/gatehouse`,
        parametersRef: { ...parametersRef('of-class'), namespace: 'default' },
      },
    },
  )
  replica = await startReplica({
    kubeconfig: await api.kubeconfig(),
    flags: ['--provision', '--connect', 'gatehouse.infra.svc.cluster.local:18000'],
  })
})

afterAll(async () => {
  await replica.stop()
  await api.close()
})

const parametersRef = (name: string) => ({ group: API_GROUP, kind: 'ProxyParameters', name })

const parameters = (name: string, envoys: object): object => ({
  apiVersion: `${API_GROUP}/v1alpha1`,
  kind: 'ProxyParameters',
  metadata: { name },
  spec: { envoys },
})

/** Creates the namespace of a test, and the objects in it. */
async function deploy(namespace: string, ...objects: readonly object[]): Promise<void> {
  await api.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  await api.apply(...objects.map((object) => inNamespace(namespace, object)))
}

function withInfrastructure(ports: Parameters<typeof gateway>[0], infrastructure: object): object {
  const made = gateway(ports)
  return { ...made, spec: { ...made.spec, infrastructure } }
}

interface Created extends AnyObject {
  readonly metadata: AnyObject['metadata'] & {
    readonly uid: string
    readonly labels: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
    readonly ownerReferences?: readonly object[]
  }
  readonly data?: Readonly<Record<string, string>>
}

/** Resolves to one of the objects for the Gateway "gw" when it satisfies the assertion. */
const created = (
  namespace: string,
  kind: (typeof CREATED)[number][1],
  assertion: (object: Created) => void = () => undefined,
): Promise<Created> =>
  eventually(async () => {
    const version = kind === 'Deployment' ? 'apps/v1' : 'v1'
    const object = (await api.get(version, kind, 'gw-gatehouse', namespace)) as Created
    assertion(object)
    return object
  }, 30_000)

interface GatewayStatus {
  readonly addresses?: readonly { readonly value: string }[]
  readonly conditions?: readonly {
    readonly type: string
    readonly status: string
    readonly reason: string
    readonly message: string
  }[]
}

async function statusOf(namespace: string): Promise<GatewayStatus> {
  return (await api.get(GATEWAY_API, 'Gateway', 'gw', namespace)).status ?? {}
}

/** Resolves when the Gateway "gw" has a condition with this reason, to its message. */
const conditionOf = (namespace: string, type: string, reason: string): Promise<string> =>
  eventually(async () => {
    const { conditions = [] } = await statusOf(namespace)
    const condition = conditions.find((each) => each.type === type)
    expect(condition?.reason).toBe(reason)
    return condition?.message ?? ''
  }, 30_000)

/** Resolves when none of the four objects exists. */
const nothingIn = (namespace: string): Promise<void> =>
  eventually(async () => {
    for (const [version, kind] of CREATED) {
      const found = await api.get(version, kind, 'gw-gatehouse', namespace).catch(isMissing)
      expect(found).toBe('missing')
    }
  }, 30_000)

function isMissing(error: unknown): string {
  if (error instanceof ApiError && error.status === 404) return 'missing'
  throw error
}

describe('a Gateway of the class', () => {
  beforeAll(() => deploy('shop', gateway([8080, 9090])))

  test('gets a ServiceAccount, a ConfigMap, a Service and a Deployment, which it owns', async () => {
    const { metadata } = (await api.get(GATEWAY_API, 'Gateway', 'gw', 'shop')) as Created
    for (const [, kind] of CREATED) {
      const object = await created('shop', kind)
      expect(object.metadata.ownerReferences).toEqual([
        { apiVersion: GATEWAY_API, kind: 'Gateway', name: 'gw', uid: metadata.uid },
      ])
      expect(object.metadata.labels).toMatchObject({
        'gateway.networking.k8s.io/gateway-name': 'gw',
        'app.kubernetes.io/managed-by': 'gatehouse',
        // docs/kubernetes.md removes what an uninstalled release leaves by this label.
        'policy.gatehouse.dev/provisioned-by': 'default.gatehouse',
      })
    }
  })

  test('has a Service with the ports of its listeners, for the pods of its Deployment', async () => {
    const service = await created('shop', 'Service')
    const { ports, selector, type } = service.spec as {
      readonly ports: readonly object[]
      readonly selector: object
      readonly type: string
    }
    expect(type).toBe('ClusterIP')
    expect(ports).toMatchObject([
      { port: 8080, targetPort: 8080 },
      { port: 9090, targetPort: 9090 },
    ])
    const { spec } = (await created('shop', 'Deployment')) as unknown as {
      spec: { template: { metadata: { labels: object } } }
    }
    expect(spec.template.metadata.labels).toMatchObject(selector)
  })

  test('has Envoys with the image of the class, which may do nothing and ask for this Gateway alone', async () => {
    const deployment = await created('shop', 'Deployment')
    const { template } = deployment.spec as {
      readonly template: { readonly spec: { readonly containers: readonly [object] } }
    }
    expect(template.spec).toMatchObject({
      serviceAccountName: 'gw-gatehouse',
      automountServiceAccountToken: false,
      securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
    })
    expect(template.spec.containers[0]).toMatchObject({
      image: 'registry.example/envoy:1',
      securityContext: {
        runAsNonRoot: true,
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      },
    })
    const { data } = await created('shop', 'ConfigMap')
    expect(data?.['bootstrap.yaml']).toContain('cluster: shop/gw')
    expect(data?.['bootstrap.yaml']).toContain('address: gatehouse.infra.svc.cluster.local')
  })

  test('is programmed, with the address of its Service, when one of its Envoys is ready', async () => {
    await eventually(async () =>
      expect(await conditionOf('shop', 'Programmed', 'Pending')).toBe(
        'Deployment shop/gw-gatehouse of its Envoys has no ready pod yet',
      ),
    )
    await api.call('PATCH', '/apis/apps/v1/namespaces/shop/deployments/gw-gatehouse/status', {
      status: { replicas: 1, readyReplicas: 1, availableReplicas: 1 },
    })
    await conditionOf('shop', 'Programmed', 'Programmed')
    const { spec } = await created('shop', 'Service')
    const { clusterIP } = spec as { readonly clusterIP: string }
    await eventually(async () =>
      expect((await statusOf('shop')).addresses).toMatchObject([{ value: clusterIP }]),
    )
  })

  test('has a Service with the ports of its new listeners', async () => {
    await deploy('shop', gateway([8081]))
    await created('shop', 'Service', ({ spec }) => {
      expect((spec as { readonly ports: readonly object[] }).ports).toMatchObject([{ port: 8081 }])
    })
  })

  test('loses its objects when it is deleted', async () => {
    await api.delete(inNamespace('shop', gateway([8081])))
    await nothingIn('shop')
  })
})

test('the GatewayClass claims no features that need private keys, which Envoys get over TLS alone', async () => {
  await eventually(async () => {
    const { status } = await api.get(GATEWAY_API, 'GatewayClass', 'gatehouse')
    expect(status).toMatchObject({
      supportedFeatures: PROVISION_FEATURES.map((name) => ({ name })),
    })
  })
})

describe("a Gateway's infrastructure", () => {
  test('has labels and annotations for each object, but not those that say what an object is', async () => {
    await deploy(
      'labelled',
      withInfrastructure([8080], {
        labels: {
          team: 'a',
          'app.kubernetes.io/name': 'mine',
          'policy.gatehouse.dev/gateway-namespace': 'shop',
          'gateway.networking.k8s.io/gateway-name': 'other',
        },
        annotations: { note: 'a', 'example.com/internal': 'yes' },
      }),
    )
    for (const [, kind] of CREATED) {
      const { metadata, spec } = await created('labelled', kind)
      const { template } = (spec ?? {}) as { readonly template?: Created }
      const parts = [metadata, ...(template === undefined ? [] : [template.metadata])]
      for (const { labels, annotations } of parts) {
        expect(annotations).toMatchObject({ note: 'a' })
        expect(labels).toMatchObject({
          team: 'a',
          'app.kubernetes.io/name': 'envoy',
          'gateway.networking.k8s.io/gateway-name': 'gw',
        })
        expect(labels).not.toHaveProperty('policy.gatehouse.dev/gateway-namespace')
      }
      expect(Object.keys(metadata.annotations ?? {}).includes('example.com/internal')).toBe(
        kind === 'Service',
      )
    }
  })

  test('has parameters with the number of Envoys and their resources', async () => {
    const resources = { requests: { cpu: '100m' }, limits: { memory: '2Gi' } }
    const sized = (replicas: number): object => parameters('own', { replicas, resources })
    const own = withInfrastructure([8080], { parametersRef: parametersRef('own') })
    await deploy('sized', sized(3), own)
    const expectReplicas = (replicas: number): Promise<Created> =>
      created('sized', 'Deployment', ({ spec }) =>
        expect(spec).toMatchObject({
          replicas,
          template: { spec: { containers: [{ resources, image: 'registry.example/envoy:1' }] } },
        }),
      )
    await expectReplicas(3)
    await deploy('sized', sized(4))
    await expectReplicas(4)
  })

  test('may not choose the image, and its Envoys stay as they are', async () => {
    await deploy('greedy', parameters('own', { replicas: 2 }))
    const own = withInfrastructure([8080], { parametersRef: parametersRef('own') })
    await deploy('greedy', own)
    await created('greedy', 'Deployment')
    await deploy('greedy', parameters('own', { image: 'evil.example/miner:1', replicas: 5 }))
    expect(await conditionOf('greedy', 'Accepted', 'InvalidParameters')).toContain(
      'ProxyParameters greedy/own sets envoys.image, which only those of a GatewayClass may',
    )
    expect(await conditionOf('greedy', 'Programmed', 'Invalid')).toContain('stay as they are')
    const { spec } = await created('greedy', 'Deployment')
    expect(spec).toMatchObject({
      replicas: 2,
      template: { spec: { containers: [{ image: 'registry.example/envoy:1' }] } },
    })
  })
})

describe('Gatehouse leaves alone', () => {
  test('an object of that name which it did not create, and says so, until it is gone', async () => {
    const foreign = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'gw-gatehouse' },
      data: { own: 'data' },
    }
    await deploy('taken', foreign, gateway([8080]))
    expect(await conditionOf('taken', 'Programmed', 'NoResources')).toContain(
      'ConfigMap taken/gw-gatehouse exists already, and this Gatehouse did not create it',
    )
    expect((await created('taken', 'ConfigMap')).data).toEqual({ own: 'data' })
    await api.delete(inNamespace('taken', foreign))
    await conditionOf('taken', 'Programmed', 'Pending')
  })

  test('a Gateway whose Envoys have a Service by hand', async () => {
    const labels = { 'gateway.networking.k8s.io/gateway-name': 'gw' }
    const service = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'by-hand', labels },
      spec: { ports: [{ port: 80 }] },
    }
    await deploy('by-hand', service, gateway([80]))
    await conditionOf('by-hand', 'Programmed', 'Programmed')
    await nothingIn('by-hand')
  })

  test('a field that another manager has set', async () => {
    await deploy('shared', gateway([8080]))
    await created('shared', 'Service')
    const path = '/api/v1/namespaces/shared/services/gw-gatehouse?fieldManager=somebody'
    await api.call('PATCH', path, { spec: { type: 'NodePort' } })
    expect(await conditionOf('shared', 'Programmed', 'NoResources')).toContain(
      'Service shared/gw-gatehouse cannot be applied: HTTP 409',
    )
    const { spec } = await created('shared', 'Service')
    expect(spec).toMatchObject({ type: 'NodePort' })
  })
})
