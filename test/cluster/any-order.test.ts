// The chart's first installation when what it needs comes late: its Envoys start first, or the Gateway API's definitions
// and the roles come last.

import { afterAll, afterEach, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { gatewayClass } from '../kubernetes/support/objects.js'
import { addressOf, api, install, podsOf, readyPods, type Release } from './support/cluster.js'
import { installDefinitions, removeGatewayApi } from './support/definitions.js'
import { deployShop, expectShop } from './support/shop.js'

const ENVOYS = 'gatehouse-default-gw'
/** The containers of Gatehouse start when the ConfigMap exists. */
const HELD = { configMapKeyRef: { name: 'late', key: 'started' } }
const VALUES = {
  envoys: [
    { gateway: 'default/gw', ports: [{ name: 'http', port: 80 }], serviceType: 'ClusterIP' },
  ],
  extraEnv: [{ name: 'STARTED', valueFrom: HELD }],
}

const letStart = (namespace: string): Promise<void> =>
  api.apply({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'late', namespace },
    data: { started: 'yes' },
  })

let release: Release | undefined

afterEach(() => release?.uninstall())

afterAll(() => installDefinitions())

/** Resolves when both pods of the component run, whether they are ready or not. */
const running = (namespace: string, component: string): Promise<void> =>
  eventually(async () => {
    const phases = (await podsOf(namespace, component)).map(({ phase }) => phase)
    expect(phases).toEqual(['Running', 'Running'])
  }, 120_000)

async function expectServed(namespace: string): Promise<void> {
  const pods = await readyPods(namespace, 4, 60_000)
  expect(pods.map(({ restarts }) => restarts)).toEqual([0, 0, 0, 0])
  await expectShop(`http://${await addressOf('gw')}/`)
}

test('Envoys that start before Gatehouse are ready within a minute of it, without a restart', async () => {
  const namespace = 'envoys-first'
  await deployShop()
  release = await install(namespace, VALUES)
  await running(namespace, ENVOYS)
  expect((await podsOf(namespace)).filter(({ isReady }) => isReady)).toEqual([])
  await letStart(namespace)
  await expectServed(namespace)
})

test("Gatehouse waits for the Gateway API's definitions and its role, without a restart", async () => {
  const namespace = 'definitions-last'
  await removeGatewayApi()
  release = await install(namespace, { ...VALUES, gatewayClass: { create: false } })
  const kind = 'ClusterRoleBinding'
  const version = 'rbac.authorization.k8s.io/v1'
  const name = `${namespace}:gatehouse`
  const binding = await api.get(version, kind, name)
  await api.delete(binding)
  await letStart(namespace)
  await running(namespace, 'gatehouse')
  expect((await podsOf(namespace)).filter(({ isReady }) => isReady)).toEqual([])
  await installDefinitions()
  await api.apply(gatewayClass())
  try {
    await deployShop()
    await api.apply({ ...binding, metadata: { name } })
    await expectServed(namespace)
  } finally {
    // Releases of other tests create it.
    await api.delete(gatewayClass())
  }
})
