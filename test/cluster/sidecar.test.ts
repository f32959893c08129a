// The chart in mode sidecar: pods of an Envoy and a Gatehouse each.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { addressOf, install, type Pod, readyPods, type Release } from './support/cluster.js'
import { lossDuring } from './support/loss.js'
import { restart } from './support/rollout.js'
import { deployShop, expectShop } from './support/shop.js'

const NAMESPACE = 'sidecars'

let release: Release
let pods: readonly Pod[]
let url: string

beforeAll(async () => {
  // The Gateway is there first.
  await deployShop()
  const sidecar = { gateway: 'default/gw', serviceType: 'ClusterIP' }
  release = await install(NAMESPACE, { mode: 'sidecar', sidecar })
  pods = await readyPods(NAMESPACE, 2, 60_000)
  url = `http://${await addressOf('gw')}/`
})

afterAll(() => release.uninstall())

test('a first installation is ready within a minute, without a restart', () => {
  expect(pods.map(({ restarts }) => restarts)).toEqual([0, 0])
})

test('it serves the Gateway, and the policy of its route is in force', async () => {
  await expectShop(url)
})

test('a rolling restart loses no request', async () => {
  expect(await lossDuring(url, () => restart(NAMESPACE, 'gatehouse'))).toEqual({})
})
