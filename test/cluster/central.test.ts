// The chart in mode central: its first installation, and what a Gateway's clients notice of restarts, upgrades and
// crashes.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addressOf, install, type Pod, podsOf, readyPods, type Release } from './support/cluster.js'
import { lossDuring } from './support/loss.js'
import { crash, restart, settled } from './support/rollout.js'
import { deployShop, expectShop } from './support/shop.js'

const NAMESPACE = 'gatehouse'
const ENVOYS = 'gatehouse-default-gw'
const VALUES = {
  envoys: [
    { gateway: 'default/gw', ports: [{ name: 'http', port: 80 }], serviceType: 'ClusterIP' },
  ],
}

let release: Release
let pods: readonly Pod[]
let url: string

beforeAll(async () => {
  release = await install(NAMESPACE, VALUES)
  await deployShop()
  pods = await readyPods(NAMESPACE, 4, 60_000)
  url = `http://${await addressOf('gw')}/`
})

afterAll(() => release.uninstall())

describe('a first installation', () => {
  test('is ready within a minute, without a restart', () => {
    expect(pods.map(({ restarts }) => restarts)).toEqual([0, 0, 0, 0])
  })

  test("serves the Gateway at the address in its status, and its route's policy is in force", async () => {
    await expectShop(url)
  })
})

describe('no request is lost', () => {
  test.each(['gatehouse', ENVOYS])('by a rolling restart of %s', async (deployment) => {
    expect(await lossDuring(url, () => restart(NAMESPACE, deployment))).toEqual({})
  })

  test('by an upgrade that replaces every pod', async () => {
    const values = { ...VALUES, logLevel: 'debug', podAnnotations: { test: 'upgraded' } }
    const upgrade = async (): Promise<void> => {
      await release.upgrade(values)
      await settled(NAMESPACE, 'gatehouse')
      await settled(NAMESPACE, ENVOYS)
    }
    expect(await lossDuring(url, upgrade)).toEqual({})
    const names = (await podsOf(NAMESPACE)).map(({ name }) => name)
    expect(names.filter((name) => pods.some((old) => old.name === name))).toEqual([])
  })

  test('by the crash of a replica', async () => {
    expect(await lossDuring(url, () => crashOne('gatehouse', 'gatehouse'))).toEqual({})
  })
})

test('the crash of an Envoy breaks its connections, and nothing else', async () => {
  const lost = await lossDuring(url, () => crashOne(ENVOYS, 'envoy'))
  const broken = /^(socket hang up|read ECONNRESET|write EPIPE|connect ECONNREFUSED .*)$/
  expect(Object.keys(lost).filter((outcome) => !broken.test(outcome))).toEqual([])
})

/** Crashes a container of one pod of the component, and resolves when its pod is ready again. */
async function crashOne(component: string, container: string): Promise<void> {
  const [pod] = await podsOf(NAMESPACE, component)
  await crash(NAMESPACE, pod?.name ?? '', container)
}
