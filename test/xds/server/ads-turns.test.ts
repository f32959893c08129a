// A change for a hundred Envoys: each is told of it, but not all in one turn of the loop.

import { afterEach, expect, test, vi } from 'vitest'
import { CLUSTER_TYPE } from '../../../src/xds/encode/type-urls.js'
import { type AdsHarness, node, startAds, takeDelta } from './ads-harness.js'

let ads: AdsHarness | undefined

afterEach(() => ads?.close())

test('a change for 40 Envoys is sent to a few of them in each turn, and to all', async () => {
  let sent = 0
  const server = await startAds(true, () => {
    sent += 1
  })
  ads = server
  server.publish({ clusters: ['a=1'] })
  const streams = [...Array(40).keys()].map((index) => {
    const stream = server.envoy.delta()
    stream.ask(CLUSTER_TYPE, { node: { ...node, id: `envoy-${String(index)}` } })
    return stream
  })
  for (const stream of streams) expect(await takeDelta(stream)).toBe('Cluster a')
  await vi.waitUntil(() => server.events.length === 40, 30_000)
  sent = 0
  server.publish({ clusters: ['a=2'] })
  expect(sent).toBeGreaterThan(0)
  expect(sent).toBeLessThanOrEqual(8)
  for (const stream of streams) expect(await takeDelta(stream)).toBe('Cluster a')
  expect(sent).toBe(40)
})
