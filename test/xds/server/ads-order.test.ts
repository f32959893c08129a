import { status } from '@grpc/grpc-js'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  CLUSTER_TYPE,
  ENDPOINT_TYPE,
  LISTENER_TYPE,
  SECRET_TYPE,
} from '../../../src/xds/encode/type-urls.js'
import { SharedViews } from '../../../src/xds/server/shared-views.js'
import type { AdsHarness } from './ads-harness.js'
import { brief, connected, node, PATIENCE_MS, startAds, take, takeDelta } from './ads-harness.js'
import { nodeSnapshot } from './fake-envoy.js'

let ads: AdsHarness

beforeEach(async () => {
  ads = await startAds()
})

afterEach(() => ads.close())

describe('order', () => {
  test('is clusters, endpoints, listeners, routes, each after the answer to those before', async () => {
    ads.publish({ clusters: ['c'], endpoints: ['c'], listeners: ['l'], routes: ['r'] })
    const stream = await connected(ads, { endpoints: ['c'], routes: ['r'] })
    ads.publish({ clusters: ['c=2'], endpoints: ['c=2'], listeners: ['l=2'], routes: ['r=2'] })
    const clusters = await stream.next()
    const endpoints = await stream.next()
    expect([brief(clusters), brief(endpoints)]).toEqual(['Cluster c', 'ClusterLoadAssignment c'])
    stream.ack(clusters)
    stream.ack(endpoints)
    const listeners = await stream.next()
    expect(brief(listeners)).toBe('Listener l')
    stream.ack(listeners)
    expect(await take(stream)).toBe('RouteConfiguration r')
  })

  test('endpoints of a warming cluster are answered before its ACK comes', async () => {
    ads.publish({ clusters: ['c'], listeners: ['l'] })
    const stream = await connected(ads)
    ads.publish({ clusters: ['c', 'new'], endpoints: ['new'], listeners: ['l=2'] })
    const clusters = await stream.next()
    stream.ask(ENDPOINT_TYPE, ['new'])
    expect(await take(stream)).toBe('ClusterLoadAssignment new')
    stream.ack(clusters)
    expect(await take(stream)).toBe('Listener l')
  })

  test('endpoints come again with their cluster when that changes: it waits for them', async () => {
    ads.publish({ clusters: ['c', 'd'], endpoints: ['c', 'd'] })
    const stream = await connected(ads, { endpoints: ['c', 'd'] })
    ads.publish({ clusters: ['c=2', 'd'], endpoints: ['c', 'd'] })
    const clusters = await stream.next()
    expect(await take(stream)).toBe('ClusterLoadAssignment c')
    stream.ack(clusters)
    await stream.silent()
  })

  test('a cluster is deleted only when listeners and routes no longer need it', async () => {
    ads.publish({ clusters: ['old'], listeners: ['l'], routes: ['r=old'] })
    const stream = await connected(ads, { routes: ['r'] })
    ads.publish({ clusters: ['new'], listeners: ['l'], routes: ['r=new'] })
    expect(await take(stream)).toBe('Cluster new old')
    const routes = await stream.next()
    expect(brief(routes)).toBe('RouteConfiguration r')
    stream.ack(routes)
    expect(await take(stream)).toBe('Cluster new')
    await stream.silent()
  })

  test('an answer that never comes holds others up for a while only', async () => {
    ads.publish({ clusters: ['c'], listeners: ['l'] })
    const stream = await connected(ads)
    // Before the server's own wait begins.
    const begun = performance.now()
    ads.publish({ clusters: ['c=2'], listeners: ['l=2'] })
    expect(brief(await stream.next())).toBe('Cluster c')
    expect(brief(await stream.next())).toBe('Listener l')
    expect(performance.now() - begun).toBeGreaterThan(PATIENCE_MS / 2)
  })

  test('a slow Envoy gets the latest version, not every one', async () => {
    ads.publish({ listeners: ['l=1'] })
    const stream = ads.envoy.world()
    stream.ask(LISTENER_TYPE, [], { node })
    const first = await stream.next()
    for (const content of ['2', '3', '4']) ads.publish({ listeners: [`l=${content}`] })
    stream.ack(first)
    const latest = await stream.next()
    const fourth = nodeSnapshot({ listeners: ['l=4'] }).get(LISTENER_TYPE) ?? new Map()
    expect(latest.versionInfo).toBe(new SharedViews().version(fourth))
    stream.ack(latest)
    await stream.silent()
  })
})

describe('secrets', () => {
  test('are sent where the connection is private', async () => {
    ads.publish({ secrets: ['s'] })
    const stream = ads.envoy.world()
    stream.ask(SECRET_TYPE, ['s'], { node })
    expect(await take(stream)).toBe('Secret s')
  })

  test('are not sent where it is not', async () => {
    await ads.close()
    ads = await startAds({ mayReceiveSecrets: false })
    ads.publish({ secrets: ['s'], clusters: ['c'] })
    const stream = ads.envoy.world()
    stream.ask(SECRET_TYPE, ['s'], { node })
    expect(await take(stream)).toBe('Secret')
    stream.ask(CLUSTER_TYPE)
    expect(await take(stream)).toBe('Cluster c')
    const delta = ads.envoy.delta()
    delta.ask(SECRET_TYPE, { node, resourceNamesSubscribe: ['s'] })
    expect(await takeDelta(delta)).toBe('Secret -s')
  })
})

describe('streams', () => {
  test('are ended by close, and report their end', async () => {
    ads.publish({})
    const stream = ads.envoy.world()
    stream.ask(CLUSTER_TYPE, [], { node })
    await stream.next()
    ads.service.close()
    expect(await stream.ended).toBe(status.OK)
    expect(ads.events).toContain('close envoy-1')
    const other = ads.envoy.delta()
    other.ask(CLUSTER_TYPE, { node: { id: 'envoy-2', cluster: '*' } })
    await other.next()
    other.cancel()
    await expect.poll(() => ads.events).toContain('close envoy-2')
    ads.publish({ clusters: ['a'] })
    expect(ads.service.settled()).toBe(true)
  })

  test('with garbage end, and leave the others alone', async () => {
    ads.publish({ clusters: ['a'] })
    const good = ads.envoy.world()
    good.ask(CLUSTER_TYPE, [], { node })
    await take(good)
    const bad = ads.envoy.world()
    bad.send({ $typeName: 'no.such.Message' })
    expect(await bad.ended).not.toBe(status.OK)
    ads.publish({ clusters: ['a=2'] })
    expect(await take(good)).toBe('Cluster a')
  })
})
