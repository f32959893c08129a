import { status } from '@grpc/grpc-js'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  CLUSTER_TYPE,
  ENDPOINT_TYPE,
  LISTENER_TYPE,
  ROUTE_TYPE,
} from '../../../src/xds/encode/type-urls.js'
import type { AdsHarness } from './ads-harness.js'
import { brief, connected, node, startAds, take } from './ads-harness.js'
import { bothForms } from './fake-envoy.js'

let ads: AdsHarness

beforeEach(async () => {
  ads = await startAds()
})

afterEach(() => ads.close())

describe('state of the world', () => {
  test('a wildcard gets everything of its type, and an ACK is reported with node and version', async () => {
    ads.publish({ clusters: ['a', 'b'] })
    const stream = ads.envoy.world()
    stream.ask(CLUSTER_TYPE, [], { node })
    const response = await stream.next()
    expect(brief(response)).toBe('Cluster a b')
    stream.ack(response)
    await stream.silent()
    expect(ads.events).toContain(`ack envoy-1 Cluster ${response.versionInfo}`)
  })

  test('a stream that came before the first snapshot is answered when there is one', async () => {
    const stream = ads.envoy.world()
    stream.ask(CLUSTER_TYPE, [], { node })
    stream.ask(LISTENER_TYPE)
    await expect.poll(() => ads.service.settled()).toBe(false)
    ads.publish({ clusters: ['a'], listeners: ['l'] })
    expect(await take(stream)).toBe('Cluster a')
    expect(await take(stream)).toBe('Listener l')
  })

  test('its streams are lasting: whoever opened one is authenticated again', () => {
    const { StreamAggregatedResources, DeltaAggregatedResources } = ads.service.methods
    for (const method of [StreamAggregatedResources, DeltaAggregatedResources])
      expect(method).toMatchObject({ type: 'stream', isLasting: true })
  })

  test('a gateway that is not known gets an empty answer', async () => {
    ads.publish({ clusters: ['a'] }, 'default/gw')
    const stream = ads.envoy.world()
    stream.ask(LISTENER_TYPE, [], { node: { id: 'e', cluster: 'no/such' } })
    expect(await take(stream)).toBe('Listener')
  })

  test('two gateways get their own, and a change of one is not sent to the other', async () => {
    const of = (a: string, b: string) =>
      ads.cache.set(
        new Map([
          ['ns/a', bothForms({ listeners: [a] })],
          ['ns/b', bothForms({ listeners: [b] })],
        ]),
      )
    of('a', 'b')
    const [a, b] = [ads.envoy.world(), ads.envoy.world()]
    a.ask(LISTENER_TYPE, [], { node: { id: '1', cluster: 'ns/a' } })
    b.ask(LISTENER_TYPE, [], { node: { id: '2', cluster: 'ns/b' } })
    expect([await take(a), await take(b)]).toEqual(['Listener a', 'Listener b'])
    of('a', 'b=changed')
    expect(await take(b)).toBe('Listener b')
    await a.silent()
  })

  test('the first request of a type on a new stream is answered, at the same version too', async () => {
    ads.publish({ clusters: ['a'], endpoints: ['a'] })
    const before = ads.envoy.world()
    before.ask(CLUSTER_TYPE, [], { node })
    const { versionInfo, nonce } = await before.next()
    before.cancel()
    const after = ads.envoy.world()
    after.ask(CLUSTER_TYPE, [], { node, versionInfo, responseNonce: `${nonce}-of-old-stream` })
    expect(await take(after)).toBe('Cluster a')
    after.ask(ENDPOINT_TYPE, ['a'], { versionInfo: 'any' })
    expect(await take(after)).toBe('ClusterLoadAssignment a')
    after.ask(ROUTE_TYPE, [])
    expect(await take(after)).toBe('RouteConfiguration')
  })

  test('a request with a stale nonce is ignored', async () => {
    ads.publish({ routes: ['r', 's'] })
    const stream = ads.envoy.world()
    stream.ask(ROUTE_TYPE, ['r'], { node })
    const first = await stream.next()
    stream.ack(first)
    ads.publish({ routes: ['r=2', 's'] })
    const second = await stream.next()
    stream.ack(first, ['r', 's'])
    await stream.silent()
    stream.ack(second, ['r', 's'])
    expect(await take(stream)).toBe('RouteConfiguration s')
  })

  test('more names at the same version are answered; fewer names are not', async () => {
    ads.publish({ endpoints: ['a', 'b'] })
    const stream = ads.envoy.world()
    stream.ask(ENDPOINT_TYPE, ['a'], { node })
    const first = await stream.next()
    expect(brief(first)).toBe('ClusterLoadAssignment a')
    stream.ack(first, ['a', 'b'])
    const second = await stream.next()
    expect(brief(second)).toBe('ClusterLoadAssignment b')
    stream.ack(second, ['b'])
    await stream.silent()
  })

  test('a name that was unsubscribed and asked for again is sent again', async () => {
    ads.publish({ endpoints: ['a'] })
    const stream = ads.envoy.world()
    stream.ask(ENDPOINT_TYPE, ['a'], { node })
    stream.ack(await stream.next(), [])
    stream.ask(ENDPOINT_TYPE, ['a'])
    expect(await take(stream)).toBe('ClusterLoadAssignment a')
  })

  test('a name that does not exist holds nothing up, and comes when it appears', async () => {
    ads.publish({ routes: ['r'] })
    const stream = ads.envoy.world()
    stream.ask(ROUTE_TYPE, ['r', 'later'], { node })
    expect(await take(stream)).toBe('RouteConfiguration r')
    ads.publish({ routes: ['r', 'later'] })
    expect(await take(stream)).toBe('RouteConfiguration later')
  })

  test('what has not changed is not sent again', async () => {
    ads.publish({ clusters: ['c'], listeners: ['l'], routes: ['r', 's'] })
    const stream = await connected(ads, { routes: ['r', 's'] })
    ads.publish({ clusters: ['c'], listeners: ['l'], routes: ['r', 's=2'] })
    expect(await take(stream)).toBe('RouteConfiguration s')
    ads.publish({ clusters: ['c'], listeners: ['l'], routes: ['r', 's=2'] })
    await stream.silent()
  })

  test('listeners and clusters are complete: what is absent is deleted', async () => {
    ads.publish({ listeners: ['a', 'b'] })
    const stream = await connected(ads)
    ads.publish({ listeners: ['b'] })
    expect(await take(stream)).toBe('Listener b')
    ads.publish({})
    expect(await take(stream)).toBe('Listener')
  })

  test('after explicit names, an empty list means nothing; "*" means everything', async () => {
    ads.publish({ listeners: ['a', 'b'] })
    const stream = ads.envoy.world()
    stream.ask(LISTENER_TYPE, ['a'], { node })
    const named = await stream.next()
    expect(brief(named)).toBe('Listener a')
    stream.ack(named, [])
    ads.publish({ listeners: ['a=2', 'b'] })
    await stream.silent()
    stream.ask(LISTENER_TYPE, ['*'])
    expect(await take(stream)).toBe('Listener a b')
  })

  test('a type that is not served is ignored, and the stream continues', async () => {
    ads.publish({ clusters: ['a'] })
    const stream = ads.envoy.world()
    stream.ask('type.googleapis.com/ads.envoy.service.runtime.v3.Runtime', [], { node })
    stream.ask(CLUSTER_TYPE)
    expect(await take(stream)).toBe('Cluster a')
  })

  test('a stream without node is refused', async () => {
    ads.publish({})
    const stream = ads.envoy.world()
    stream.ask(CLUSTER_TYPE)
    expect(await stream.ended).toBe(status.INVALID_ARGUMENT)
  })
})

describe('refusals', () => {
  test('are reported, and the same version is never sent again', async () => {
    ads.publish({ listeners: ['l=bad'] })
    const stream = ads.envoy.world()
    stream.ask(LISTENER_TYPE, [], { node })
    const bad = await stream.next()
    stream.nack(bad, 'no such filter')
    await stream.silent()
    ads.publish({ listeners: ['l=bad'], clusters: ['unrelated'] })
    await stream.silent()
    expect(ads.events.filter((event) => event.includes(' Listener '))).toEqual([
      'count Listener envoy-1',
      `nack envoy-1 Listener ${bad.versionInfo} no such filter`,
    ])
  })

  test.each([
    [
      "regex 'it's|s3cret' RE2 program size of 120 > max program size of 100 set for the error level threshold.",
      "regex '[redacted]' RE2 program size of 120 > max program size of 100 set for the error level threshold.",
    ],
    ["Invalid regex 's3cret(': missing )", "Invalid regex '[redacted]': missing )"],
  ])('show no pattern, which may be the value of a header: %s', async (reason, shown) => {
    ads.publish({ listeners: ['l=1'] })
    const stream = ads.envoy.world()
    stream.ask(LISTENER_TYPE, [], { node })
    stream.nack(await stream.next(), reason)
    await stream.silent()
    const [, event = ''] = ads.events.filter((event) => event.includes(' Listener '))
    expect(event).toContain(shown)
    expect(event).not.toContain('s3cret')
  })

  test('end with the next version, also when that is the one before', async () => {
    ads.publish({ listeners: ['l=1'] })
    const stream = ads.envoy.world()
    stream.ask(LISTENER_TYPE, [], { node })
    const good = await stream.next()
    stream.ack(good)
    ads.publish({ listeners: ['l=2'] })
    stream.nack(await stream.next(), 'bad')
    ads.publish({ listeners: ['l=1'] })
    const back = await stream.next()
    expect(back.versionInfo).toBe(good.versionInfo)
    stream.ack(back)
    await stream.silent()
    expect(ads.service.settled()).toBe(true)
  })

  test('leave the service unsettled', async () => {
    ads.publish({ clusters: ['c'], listeners: ['l'], routes: ['r'] })
    const stream = await connected(ads, { routes: ['r'] })
    await stream.silent()
    expect(ads.service.settled()).toBe(true)
    ads.publish({ clusters: ['c'], listeners: ['l'], routes: ['r=bad'] })
    expect(ads.service.settled()).toBe(false)
    stream.nack(await stream.next(), 'bad')
    await stream.silent()
    expect(ads.service.settled()).toBe(false)
    ads.publish({ clusters: ['c'], listeners: ['l'], routes: ['r=good'] })
    await take(stream)
    await stream.silent()
    expect(ads.service.settled()).toBe(true)
  })
})

describe('an Envoy that comes back', () => {
  const before = { clusters: ['a'], listeners: ['l'], routes: ['r=1'] }
  const after = { clusters: ['b'], listeners: ['l'], routes: ['r=2'] }

  /** The version of the clusters that it has. */
  const left = async (cluster = '*'): Promise<string> => {
    ads.publish(before, cluster)
    const stream = ads.envoy.world()
    stream.ask(CLUSTER_TYPE, [], { node: { ...node, cluster } })
    const response = await stream.next()
    stream.ack(response)
    stream.cancel()
    return response.versionInfo
  }

  test('keeps the clusters that are gone until its routes have changed', async () => {
    const versionInfo = await left()
    ads.publish(after)
    const stream = ads.envoy.world()
    stream.ask(CLUSTER_TYPE, [], { node, versionInfo })
    // It knows what it had asked for, and asks for all of it at once.
    stream.ask(LISTENER_TYPE)
    stream.ask(ROUTE_TYPE, ['r'])
    expect(await take(stream)).toBe('Cluster b a')
    expect(await take(stream)).toBe('Listener l')
    expect(await take(stream)).toBe('RouteConfiguration r')
    expect(await take(stream)).toBe('Cluster b')
  })

  test('gets no clusters of another gateway, whatever version it names', async () => {
    const versionInfo = await left('ns/other')
    ads.publish(after)
    const stream = ads.envoy.world()
    stream.ask(CLUSTER_TYPE, [], { node, versionInfo })
    expect(await take(stream)).toBe('Cluster b')
  })
})
