// A hundred Envoys that connect or receive a change: each gets all of it, but not within one turn of the event loop.

import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { nextTurn } from '../../../src/kit/turns.js'
import { CLUSTER_TYPE, ENDPOINT_TYPE } from '../../../src/xds/encode/type-urls.js'
import { AdsStream } from '../../../src/xds/server/ads-stream.js'
import { type AdsHarness, node, startAds, takeDelta } from './ads-harness.js'

let ads: AdsHarness | undefined

afterEach(() => ads?.close())

test('a change for 40 Envoys is sent to a few of them in each turn, and to all', async () => {
  let sent = 0
  const server = await startAds({
    onSent: () => {
      sent += 1
    },
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
  expect(sent).toBe(0)
  const ofTurns: number[] = []
  while (sent < 40) {
    const before = sent
    await nextTurn()
    ofTurns.push(sent - before)
  }
  expect(Math.max(...ofTurns)).toBeLessThanOrEqual(8)
  for (const stream of streams) expect(await takeDelta(stream)).toBe('Cluster a')
  expect(sent).toBe(40)
})

test('Envoys that come at once for thousands of resources are answered in turns, two at most in each', async () => {
  const [ENVOYS, CLUSTERS] = [20, 2_000]
  const sentIn = new Map<number, number>()
  let turn = 0
  let next = setImmediate(function count() {
    turn += 1
    next = setImmediate(count)
  })
  onTestFinished(() => clearImmediate(next))
  const server = await startAds({
    onSent: () => {
      sentIn.set(turn, (sentIn.get(turn) ?? 0) + 1)
    },
  })
  ads = server
  const names = [...Array(CLUSTERS).keys()].map((index) => `c${String(index)}`)
  server.publish({ clusters: names.map((name) => `${name}=1`) })
  const streams = [...Array(ENVOYS).keys()].map((index) => {
    const stream = server.envoy.delta()
    stream.ask(CLUSTER_TYPE, { node: { ...node, id: `envoy-${String(index)}` } })
    return stream
  })
  const expected = `Cluster ${[...names].sort().join(' ')}`
  for (const stream of streams) expect(await takeDelta(stream)).toBe(expected)
  await vi.waitUntil(() => server.events.length === ENVOYS, 30_000)
  const counts = [...sentIn.values()]
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(ENVOYS)
  expect(Math.max(...counts)).toBeLessThanOrEqual(2)
})

test('a request with thousands of names is taken in one turn and answered in a later one', async () => {
  const names = [...Array(4_000).keys()].map((index) => `c${String(index)}`)
  const steps: string[] = []
  const server = await startAds({ onSent: () => void steps.push('answered') })
  ads = server
  const handle = vi.spyOn(AdsStream.prototype, 'handle').mockImplementation(function (
    this: AdsStream,
    request,
  ) {
    handle.mockRestore()
    this.handle(request)
    steps.push('taken')
    setImmediate(() => steps.push('another turn'))
  })
  server.publish({ endpoints: names.map((name) => `${name}=1`) })
  const stream = server.envoy.delta()
  stream.ask(ENDPOINT_TYPE, { node, resourceNamesSubscribe: names })
  await takeDelta(stream)
  expect(steps).toEqual(['taken', 'another turn', 'answered'])
})
