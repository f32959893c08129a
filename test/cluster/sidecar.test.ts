// The chart in mode sidecar: pods of an Envoy and a Gatehouse each. What clients notice of restarts, upgrades and crashes.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addressOf, install, type Pod, podsOf, readyPods, type Release } from './support/cluster.js'
import { lossDuring, outcomesDuring } from './support/loss.js'
import { crash, restart, settled } from './support/rollout.js'
import { deployShop, expectShop } from './support/shop.js'

const NAMESPACE = 'sidecars'
const VALUES = {
  mode: 'sidecar',
  sidecar: { gateway: 'default/gw', serviceType: 'ClusterIP' },
}

let release: Release
let pods: readonly Pod[]
let url: string

beforeAll(async () => {
  // The Gateway is there first.
  await deployShop()
  release = await install(NAMESPACE, VALUES)
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

describe('no request is lost', () => {
  test('by a rolling restart', async () => {
    expect(await lossDuring(url, () => restart(NAMESPACE, 'gatehouse'))).toEqual({})
  })

  test('by an upgrade that replaces every pod', async () => {
    const before = (await podsOf(NAMESPACE)).map(({ name }) => name)
    const upgrade = async (): Promise<void> => {
      await release.upgrade({
        ...VALUES,
        logLevel: 'debug',
        podAnnotations: { test: 'upgraded' },
        envoy: { drainSeconds: 8 },
      })
      await settled(NAMESPACE, 'gatehouse')
    }
    expect(await lossDuring(url, upgrade)).toEqual({})
    const after = (await podsOf(NAMESPACE)).map(({ name }) => name)
    expect(after.filter((name) => before.includes(name))).toEqual([])
  })
})

describe('a crash lets nothing pass that the policy forbids, and harms no other pod', () => {
  /** Crashes a container of one pod. Resolves to what clients of that pod and of the other get meanwhile. */
  async function crashOne(container: string) {
    const [crashed, other] = await readyPods(NAMESPACE, 2)
    const urlOf = (pod?: Pod): string => `http://${pod?.address ?? ''}/`
    const kinds = [crashed, other].flatMap((pod) =>
      ['GET', 'POST'].map((method) => ({ method, url: urlOf(pod) })),
    )
    const [allowed, forbidden, ...others] = await outcomesDuring(kinds, async () => {
      await crash(NAMESPACE, crashed?.name ?? '', container)
      await expectShop(urlOf(crashed))
    })
    expect(others.map((outcomes) => Object.keys(outcomes))).toEqual([['200'], ['403']])
    expect(await lossDuring(urlOf(crashed), () => expectShop(url))).toEqual({})
    return { allowed: Object.keys(allowed ?? {}), forbidden: Object.keys(forbidden ?? {}) }
  }

  test('of Gatehouse: its Envoy answers 503 until it is back', async () => {
    const { allowed, forbidden } = await crashOne('gatehouse')
    expect(allowed).toEqual(['200', '503'])
    expect(forbidden).toEqual(['403', '503'])
  })

  test('of an Envoy: its connections break until it is back', async () => {
    const { allowed, forbidden } = await crashOne('envoy')
    const broken = /^(socket hang up|read ECONNRESET|write EPIPE|connect ECONNREFUSED .*)$/
    expect(allowed.filter((outcome) => !broken.test(outcome))).toEqual(['200'])
    expect(forbidden.filter((outcome) => !broken.test(outcome))).toEqual(['403'])
    expect(allowed.length).toBeGreaterThan(1)
  })
})
