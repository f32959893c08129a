// The chart with envoys.provision: Gateways that two tenants create get Envoys, which answer through their Services, follow
// the parameters and the listeners, and go with the Gateway.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { inNamespace } from '../kubernetes/support/objects.js'
import { API_GROUP, gateway, httpRoute } from '../support/resources.js'
import { app } from './support/app.js'
import { addressOf, api, install, podsOf, readyPods, type Release } from './support/cluster.js'
import { lossDuring } from './support/loss.js'
import { restart } from './support/rollout.js'

const GATEWAY_API = 'gateway.networking.k8s.io/v1'
const VALUES = { envoys: { provision: true, replicas: 1, serviceType: 'ClusterIP' } }
const TENANTS = ['alice', 'bob'] as const

let release: Release

beforeAll(async () => {
  for (const name of TENANTS)
    await api.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
  release = await install('provision', VALUES)
  for (const tenant of TENANTS) await deployShop(tenant, [80])
})

afterAll(() => release.uninstall())

/** Creates a Gateway called "gw" with a shop behind it. */
function deployShop(
  namespace: string,
  ports: readonly number[],
  infrastructure: object = {},
): Promise<void> {
  const made = gateway(ports)
  const route = httpRoute('shop', { rules: [{ backendRefs: [{ name: namespace, port: 80 }] }] })
  return api.apply(
    ...app(namespace, namespace),
    inNamespace(namespace, { ...made, spec: { ...made.spec, infrastructure } }),
    inNamespace(namespace, route),
  )
}

/** Resolves to the URL of the tenant's Gateway when it leads to the tenant's shop. */
async function shopOf(tenant: string, port = 80): Promise<string> {
  const url = `http://${await addressOf('gw', tenant)}:${String(port)}/`
  await eventually(async () => {
    const reply = await fetch(url)
    expect(await reply.json()).toMatchObject({ app: tenant })
  }, 120_000)
  return url
}

const envoysOf = async (tenant: string) =>
  (await podsOf(tenant)).filter(({ name }) => name.startsWith('gw-gatehouse-'))

describe('a Gateway that a tenant creates', () => {
  test.each(TENANTS)('answers through its Service, for %s', async (tenant) => {
    await shopOf(tenant)
    const envoys = await envoysOf(tenant)
    expect(envoys).toMatchObject([{ isReady: true, restarts: 0 }])
    const { status } = await api.get(GATEWAY_API, 'Gateway', 'gw', tenant)
    expect(JSON.stringify(status)).toContain('"reason":"Programmed"')
  })

  test('has as many Envoys as its parameters say, and none is lost while it gets them', async () => {
    const url = await shopOf('alice')
    const scale = async (): Promise<void> => {
      await api.apply({
        apiVersion: `${API_GROUP}/v1alpha1`,
        kind: 'ProxyParameters',
        metadata: { name: 'own', namespace: 'alice' },
        spec: { envoys: { replicas: 2 } },
      })
      const parametersRef = { group: API_GROUP, kind: 'ProxyParameters', name: 'own' }
      await deployShop('alice', [80], { parametersRef })
      await readyPods('alice', 3)
    }
    expect(await lossDuring(url, scale)).toEqual({})
    expect(await envoysOf('alice')).toHaveLength(2)
    expect(await envoysOf('bob')).toHaveLength(1)
  })

  test('loses no request by a rolling restart of its Envoys', async () => {
    const url = await shopOf('alice')
    expect(await lossDuring(url, () => restart('alice', 'gw-gatehouse'))).toEqual({})
  })

  test('answers on the ports of its new listeners, with the Envoys that it has', async () => {
    const before = (await envoysOf('bob')).map(({ name }) => name)
    await deployShop('bob', [80, 81])
    await shopOf('bob', 81)
    expect((await envoysOf('bob')).map(({ name }) => name)).toEqual(before)
  })

  test('takes its Envoys with it', async () => {
    await api.delete(inNamespace('bob', gateway([80])))
    await eventually(async () => expect(await envoysOf('bob')).toEqual([]), 60_000)
    await shopOf('alice')
  })
})

test('the Envoys have neither a token nor rights of root', async () => {
  const [envoy] = await envoysOf('alice')
  const { spec } = await api.get('v1', 'Pod', envoy?.name ?? '', 'alice')
  expect(JSON.stringify(spec)).not.toContain('serviceAccountToken')
  expect(spec).toMatchObject({
    containers: [{ securityContext: { runAsNonRoot: true, readOnlyRootFilesystem: true } }],
  })
})
