import { status } from '@grpc/grpc-js'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  CLUSTER_TYPE,
  ENDPOINT_TYPE,
  LISTENER_TYPE,
  ROUTE_TYPE,
} from '../../../src/xds/encode/type-urls.js'
import type { AdsHarness } from './ads-harness.js'
import { briefDelta, node, startAds, takeDelta } from './ads-harness.js'
import { nodeSnapshot } from './fake-envoy.js'

let ads: AdsHarness

beforeEach(async () => {
  ads = await startAds()
})

afterEach(() => ads.close())

describe('incremental', () => {
  test('sends everything first, then only what changed and what is gone', async () => {
    ads.publish({ listeners: ['a', 'b'] })
    const stream = ads.envoy.delta()
    stream.ask(LISTENER_TYPE, { node })
    const first = await stream.next()
    expect(briefDelta(first)).toBe('Listener a b')
    stream.ack(first)
    ads.publish({ listeners: ['b=2', 'c'] })
    expect(await takeDelta(stream)).toBe('Listener b c -a')
    await stream.silent()
    expect(ads.events).toContain(`ack envoy-1 Listener ${first.systemVersionInfo}`)
  })

  test('does not send what Envoy already has, but always answers, and removes what no longer exists', async () => {
    ads.publish({ listeners: ['a', 'b'], clusters: ['c'] })
    const version =
      nodeSnapshot({ listeners: ['a'] })
        .get(LISTENER_TYPE)
        ?.get('a')?.version ?? ''
    const stream = ads.envoy.delta()
    stream.ask(LISTENER_TYPE, {
      node,
      initialResourceVersions: { a: version, b: 'other', gone: 'any' },
    })
    expect(await takeDelta(stream)).toBe('Listener b -gone')
    const again = ads.envoy.delta()
    const cluster =
      nodeSnapshot({ clusters: ['c'] })
        .get(CLUSTER_TYPE)
        ?.get('c')?.version ?? ''
    again.ask(CLUSTER_TYPE, { node, initialResourceVersions: { c: cluster } })
    expect(await takeDelta(again)).toBe('Cluster')
  })

  test('sends the endpoints of clusters that changed while Envoy was away, and of no others', async () => {
    const before = nodeSnapshot({ clusters: ['c', 'd'], endpoints: ['c', 'd'] })
    const versions = (typeUrl: string) =>
      Object.fromEntries(
        [...(before.get(typeUrl)?.values() ?? [])].map(({ name, version }) => [name, version]),
      )
    ads.publish({ clusters: ['c=2', 'd'], endpoints: ['c', 'd'] })
    const stream = ads.envoy.delta()
    stream.ask(CLUSTER_TYPE, { node, initialResourceVersions: versions(CLUSTER_TYPE) })
    stream.ask(ENDPOINT_TYPE, {
      resourceNamesSubscribe: ['c', 'd'],
      initialResourceVersions: versions(ENDPOINT_TYPE),
    })
    expect(await takeDelta(stream)).toBe('Cluster c')
    expect(await takeDelta(stream)).toBe('ClusterLoadAssignment c')
    await stream.silent()
  })

  test('reports names that do not exist as removed, and sends them when they appear', async () => {
    ads.publish({ routes: ['r'] })
    const stream = ads.envoy.delta()
    stream.ask(ROUTE_TYPE, { node, resourceNamesSubscribe: ['r', 'later'] })
    expect(await takeDelta(stream)).toBe('RouteConfiguration r -later')
    ads.publish({ routes: ['r', 'later'] })
    expect(await takeDelta(stream)).toBe('RouteConfiguration later')
  })

  test('ends a stream that asks for names without end', async () => {
    ads.publish({ routes: ['r'] })
    const stream = ads.envoy.delta()
    const names = (from: number) => Array.from({ length: 60_000 }, (_, i) => `r${from + i}`)
    stream.ask(ROUTE_TYPE, { node, resourceNamesSubscribe: names(0) })
    await stream.next()
    stream.ask(ROUTE_TYPE, { resourceNamesSubscribe: names(60_000) })
    expect(await stream.ended).toBe(status.INTERNAL)
  })

  test('follows subscriptions, whatever nonce they carry', async () => {
    ads.publish({ routes: ['r', 's'] })
    const stream = ads.envoy.delta()
    stream.ask(ROUTE_TYPE, { node, resourceNamesSubscribe: ['r'] })
    expect(await takeDelta(stream)).toBe('RouteConfiguration r')
    stream.ask(ROUTE_TYPE, { resourceNamesSubscribe: ['s'], responseNonce: 'stale' })
    expect(await takeDelta(stream)).toBe('RouteConfiguration s')
    stream.ask(ROUTE_TYPE, { resourceNamesUnsubscribe: ['r'] })
    await stream.silent()
    ads.publish({ routes: ['r=2', 's=2'] })
    expect(await takeDelta(stream)).toBe('RouteConfiguration s')
  })

  test('a name unsubscribed under a wildcard is sent again, or reported as removed', async () => {
    ads.publish({ clusters: ['a', 'b'] })
    const stream = ads.envoy.delta()
    stream.ask(CLUSTER_TYPE, { node, resourceNamesSubscribe: ['*', 'a', 'gone'] })
    expect(await takeDelta(stream)).toBe('Cluster a b -gone')
    stream.ask(CLUSTER_TYPE, { resourceNamesUnsubscribe: ['a', 'gone'] })
    expect(await takeDelta(stream)).toBe('Cluster a -gone')
  })

  test('a refused version is not sent again, a new one is, and a refused resource can be removed', async () => {
    ads.publish({ listeners: ['l=bad'] })
    const stream = ads.envoy.delta()
    stream.ask(LISTENER_TYPE, { node })
    stream.nack(await stream.next(), 'bad')
    await stream.silent()
    ads.publish({ listeners: ['l=bad', 'm'] })
    expect(await takeDelta(stream)).toBe('Listener m')
    ads.publish({ listeners: ['l=good', 'm'] })
    expect(await takeDelta(stream)).toBe('Listener l')
    ads.publish({})
    expect(await takeDelta(stream)).toBe('Listener -l -m')
  })

  test('a removal that was refused together with something else is sent again by itself, once', async () => {
    ads.publish({ listeners: ['a'] })
    const stream = ads.envoy.delta()
    stream.ask(LISTENER_TYPE, { node })
    await takeDelta(stream)
    ads.publish({ listeners: ['b'] })
    const both = await stream.next()
    expect(briefDelta(both)).toBe('Listener b -a')
    stream.nack(both, 'the port of b is taken')
    const removal = await stream.next()
    expect(briefDelta(removal)).toBe('Listener -a')
    stream.nack(removal, 'no')
    const listener = await stream.next()
    expect(briefDelta(listener)).toBe('Listener b')
    stream.nack(listener, 'the port of b is taken')
    await stream.silent()
  })

  test('removes clusters that an Envoy has which comes back after the routes that named them', async () => {
    ads.publish({ clusters: ['c'], listeners: ['l'], routes: ['r'] })
    const before = { node, initialResourceVersions: { old: 'any', c: 'any' } }
    const stream = ads.envoy.delta()
    stream.ask(CLUSTER_TYPE, before)
    stream.ask(LISTENER_TYPE, { initialResourceVersions: { l: 'any' } })
    stream.ask(ROUTE_TYPE, { resourceNamesSubscribe: ['r'], initialResourceVersions: { r: 'any' } })
    expect(await takeDelta(stream)).toBe('Cluster c')
    expect(await takeDelta(stream)).toBe('Listener l')
    expect(await takeDelta(stream)).toBe('RouteConfiguration r')
    expect(await takeDelta(stream)).toBe('Cluster -old')
    const alone = ads.envoy.delta()
    alone.ask(CLUSTER_TYPE, before)
    expect(await takeDelta(alone)).toBe('Cluster c')
    expect(await takeDelta(alone)).toBe('Cluster -old')
  })

  test('removes clusters after the routes that named them', async () => {
    ads.publish({ clusters: ['old'], listeners: ['l'], routes: ['r=old'] })
    const stream = ads.envoy.delta()
    stream.ask(CLUSTER_TYPE, { node })
    await takeDelta(stream)
    stream.ask(LISTENER_TYPE)
    await takeDelta(stream)
    stream.ask(ROUTE_TYPE, { resourceNamesSubscribe: ['r'] })
    await takeDelta(stream)
    ads.publish({ clusters: ['new'], listeners: ['l'], routes: ['r=new'] })
    expect(await takeDelta(stream)).toBe('Cluster new')
    expect(await takeDelta(stream)).toBe('RouteConfiguration r')
    expect(await takeDelta(stream)).toBe('Cluster -old')
  })
})
