// Virtual hosts as separate resources (VHDS): which Envoys get them, when, and when again.

import type { MessageInitShape } from '@bufbuild/protobuf'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { NodeSchema } from '../../../src/wire/grpc/generated/envoy/config/core/v3/base_pb.js'
import {
  CLUSTER_TYPE,
  LISTENER_TYPE,
  ROUTE_TYPE,
  VIRTUAL_HOST_TYPE,
} from '../../../src/xds/encode/type-urls.js'
import type { AdsHarness } from './ads-harness.js'
import { brief, briefDelta, node, startAds, takeDelta } from './ads-harness.js'
import { type Delta, nodeSnapshot } from './fake-envoy.js'

let ads: AdsHarness

beforeEach(async () => {
  ads = await startAds()
})

afterEach(() => ads.close())

type Node = MessageInitShape<typeof NodeSchema>

const ofVersion = (majorNumber: number, minorNumber: number): Node => ({
  ...node,
  userAgentName: 'envoy',
  userAgentVersionType: {
    case: 'userAgentBuildVersion',
    value: { version: { majorNumber, minorNumber, patch: 0 } },
  },
})
const current = ofVersion(1, 40)

/** An Envoy that has the route configurations and their hosts. */
async function connected(...names: readonly string[]): Promise<Delta> {
  const stream = ads.envoy.delta()
  stream.ask(ROUTE_TYPE, { node: current, resourceNamesSubscribe: [...names] })
  await takeDelta(stream)
  stream.ask(VIRTUAL_HOST_TYPE)
  await takeDelta(stream)
  return stream
}

describe('virtual hosts', () => {
  test('are sent one by one, after the route configuration that they belong to', async () => {
    ads.publish({ routes: ['r'], hosts: ['r/a', 'r/b'] })
    const stream = ads.envoy.delta()
    stream.ask(ROUTE_TYPE, { node: current, resourceNamesSubscribe: ['r'] })
    const routes = await stream.next()
    expect(briefDelta(routes)).toBe('RouteConfiguration r')
    stream.ask(VIRTUAL_HOST_TYPE)
    stream.ack(routes)
    expect(await takeDelta(stream)).toBe('VirtualHost r/a r/b')
    ads.publish({ routes: ['r'], hosts: ['r/a', 'r/b=2', 'r/c'] })
    expect(await takeDelta(stream)).toBe('VirtualHost r/b r/c')
    ads.publish({ routes: ['r'], hosts: ['r/b=2', 'r/c'] })
    expect(await takeDelta(stream)).toBe('VirtualHost -r/a')
    await stream.silent()
  })

  test('wait for the clusters that they may name, and clusters that go for them', async () => {
    ads.publish({ clusters: ['old'], routes: ['r'], hosts: ['r/a=old'] })
    const stream = ads.envoy.delta()
    stream.ask(CLUSTER_TYPE, { node: current })
    await takeDelta(stream)
    stream.ask(ROUTE_TYPE, { resourceNamesSubscribe: ['r'] })
    await takeDelta(stream)
    stream.ask(VIRTUAL_HOST_TYPE)
    await takeDelta(stream)
    ads.publish({ clusters: ['new'], routes: ['r'], hosts: ['r/a=new'] })
    const clusters = await stream.next()
    expect(briefDelta(clusters)).toBe('Cluster new')
    stream.ack(clusters)
    const hosts = await stream.next()
    expect(briefDelta(hosts)).toBe('VirtualHost r/a')
    stream.ack(hosts)
    expect(await takeDelta(stream)).toBe('Cluster -old')
  })

  test('go before the clusters that they named, to the last request', async () => {
    ads.publish({ clusters: ['one'], listeners: ['l'], routes: ['r'], hosts: ['r/a=one'] })
    const stream = ads.envoy.delta()
    stream.ask(CLUSTER_TYPE, { node: current })
    await takeDelta(stream)
    stream.ask(LISTENER_TYPE)
    await takeDelta(stream)
    stream.ask(ROUTE_TYPE, { resourceNamesSubscribe: ['r'] })
    await takeDelta(stream)
    stream.ask(VIRTUAL_HOST_TYPE)
    await takeDelta(stream)
    ads.publish({ listeners: ['l'], routes: ['r'] })
    const hosts = await stream.next()
    expect(briefDelta(hosts)).toBe('VirtualHost -r/a')
    await stream.silent()
    stream.ack(hosts)
    expect(await takeDelta(stream)).toBe('Cluster -one')
  })

  test('of a route configuration that Envoy does not have yet come after it', async () => {
    ads.publish({ routes: ['r'], hosts: ['r/a'] })
    const stream = await connected('r')
    ads.publish({ routes: ['r', 's'], hosts: ['r/a', 's/a'] })
    await stream.silent()
    stream.ask(ROUTE_TYPE, { resourceNamesSubscribe: ['s'] })
    expect(await takeDelta(stream)).toBe('RouteConfiguration s')
    expect(await takeDelta(stream)).toBe('VirtualHost s/a')
    await stream.silent()
  })

  test('come again with a route configuration that Envoy asks for again', async () => {
    ads.publish({ routes: ['r', 's'], hosts: ['r/a', 's/a'] })
    const stream = await connected('r', 's')
    stream.ask(ROUTE_TYPE, { resourceNamesSubscribe: ['s'] })
    expect(await takeDelta(stream)).toBe('RouteConfiguration s')
    expect(await takeDelta(stream)).toBe('VirtualHost s/a')
    await stream.silent()
  })

  test('are removed from an Envoy that no longer needs their route configuration', async () => {
    ads.publish({ routes: ['r', 's'], hosts: ['r/a', 's/a'] })
    const stream = await connected('r', 's')
    stream.ask(ROUTE_TYPE, { resourceNamesUnsubscribe: ['s'] })
    expect(await takeDelta(stream)).toBe('VirtualHost -s/a')
    await stream.silent()
  })

  test('are sent at once, even if Envoy has NACKed others', async () => {
    ads.publish({ listeners: ['l'], routes: ['r'], hosts: ['r/a', 'r/b'] })
    const stream = ads.envoy.delta()
    stream.ask(LISTENER_TYPE, { node: current })
    stream.nack(await stream.next(), 'the port is taken')
    stream.ask(ROUTE_TYPE, { resourceNamesSubscribe: ['r'] })
    await takeDelta(stream)
    stream.ask(VIRTUAL_HOST_TYPE)
    await takeDelta(stream)
    ads.publish({ listeners: ['l'], routes: ['r'], hosts: ['r/a'] })
    expect(await takeDelta(stream)).toBe('VirtualHost -r/b')
    await stream.silent()
  })

  test('come when a route configuration is taken that was refused at first', async () => {
    ads.publish({ routes: ['r', 's=bad'], hosts: ['r/a', 's/a'] })
    const stream = await connected('r')
    stream.ask(ROUTE_TYPE, { resourceNamesSubscribe: ['s'] })
    const refused = await stream.next()
    expect(briefDelta(refused)).toBe('RouteConfiguration s')
    stream.nack(refused, 'no')
    await stream.silent()
    ads.publish({ routes: ['r', 's=good'], hosts: ['r/a', 's/a'] })
    expect(await takeDelta(stream)).toBe('RouteConfiguration s')
    expect(await takeDelta(stream)).toBe('VirtualHost s/a')
    await stream.silent()
  })

  test('stay where a later version of their route configuration is refused', async () => {
    ads.publish({ routes: ['r'], hosts: ['r/a'] })
    const stream = await connected('r')
    ads.publish({ routes: ['r=bad'], hosts: ['r/a', 'r/b'] })
    stream.nack(await stream.next(), 'no')
    expect(await takeDelta(stream)).toBe('VirtualHost r/b')
    await stream.silent()
  })

  test('that were refused together are sent again by halves, and one that is refused alone is not', async () => {
    ads.publish({ routes: ['r'], hosts: ['r/a', 'r/b', 'r/c'] })
    const stream = await connected('r')
    ads.publish({ routes: ['r'], hosts: ['r/a=2', 'r/b=bad', 'r/c=2'] })
    stream.nack(await stream.next(), 'b is bad')
    const half = await stream.next()
    expect(briefDelta(half)).toBe('VirtualHost r/a r/b')
    stream.nack(half, 'b is bad')
    expect(await takeDelta(stream)).toBe('VirtualHost r/c')
    expect(await takeDelta(stream)).toBe('VirtualHost r/a')
    const bad = await stream.next()
    expect(briefDelta(bad)).toBe('VirtualHost r/b')
    stream.nack(bad, 'b is bad')
    await stream.silent()
    ads.publish({ routes: ['r'], hosts: ['r/a=3', 'r/b=good', 'r/c=2'] })
    expect(await takeDelta(stream)).toBe('VirtualHost r/a r/b')
    await stream.silent()
  })

  test('that Envoy has from another stream are not sent again, nor taken from it', async () => {
    const snapshot = { routes: ['r'], hosts: ['r/a', 'r/b'] }
    ads.publish(snapshot)
    const versions = (typeUrl: string) =>
      Object.fromEntries(
        [...(nodeSnapshot(snapshot).get(typeUrl)?.values() ?? [])].map((r) => [r.name, r.version]),
      )
    const stream = ads.envoy.delta()
    stream.ask(ROUTE_TYPE, {
      node: current,
      resourceNamesSubscribe: ['r'],
      initialResourceVersions: versions(ROUTE_TYPE),
    })
    expect(await takeDelta(stream)).toBe('RouteConfiguration')
    stream.ask(VIRTUAL_HOST_TYPE, { initialResourceVersions: versions(VIRTUAL_HOST_TYPE) })
    expect(await takeDelta(stream)).toBe('VirtualHost')
    ads.publish({ ...snapshot, hosts: ['r/a', 'r/b=2'] })
    expect(await takeDelta(stream)).toBe('VirtualHost r/b')
  })
})

describe('virtual hosts of a route configuration that is gone', () => {
  beforeEach(async () => {
    await ads.close()
    ads = await startAds({ lingerMs: 60_000 })
  })

  test('stay for a while, as long as Envoy needs it', async () => {
    ads.publish({ routes: ['r', 's'], hosts: ['r/a', 's/a'] })
    const stream = await connected('r', 's')
    ads.publish({ routes: ['r'], hosts: ['r/a'] })
    expect(await takeDelta(stream)).toBe('RouteConfiguration -s')
    await stream.silent()
    stream.ask(ROUTE_TYPE, { resourceNamesUnsubscribe: ['s'] })
    expect(await takeDelta(stream)).toBe('VirtualHost -s/a')
    await stream.silent()
  })

  test('go if they are of before when it comes back', async () => {
    ads.publish({ routes: ['r', 's'], hosts: ['r/a', 's/a', 's/b'] })
    const stream = await connected('r', 's')
    ads.publish({ routes: ['r'], hosts: ['r/a'] })
    expect(await takeDelta(stream)).toBe('RouteConfiguration -s')
    ads.publish({ routes: ['r', 's'], hosts: ['r/a', 's/b'] })
    expect(await takeDelta(stream)).toBe('RouteConfiguration s')
    expect(await takeDelta(stream)).toBe('VirtualHost s/b -s/a')
    await stream.silent()
  })
})

describe('who does not take virtual hosts of their own', () => {
  test.each([
    ['an older Envoy', ofVersion(1, 39)],
    ['one that does not say its version', node],
  ])('%s gets whole route configurations', async (_who, who) => {
    ads.publish({ routes: ['r'], hosts: ['r/a'] })
    const stream = ads.envoy.delta()
    stream.ask(VIRTUAL_HOST_TYPE, { node: who })
    expect(await takeDelta(stream)).toBe('VirtualHost')
  })

  test('a later major version does', async () => {
    ads.publish({ hosts: ['r/a'] })
    const stream = ads.envoy.delta()
    stream.ask(VIRTUAL_HOST_TYPE, { node: ofVersion(2, 0) })
    expect(await takeDelta(stream)).toBe('VirtualHost r/a')
  })

  test('one that asks for the state of the world', async () => {
    ads.publish({ listeners: ['l'], hosts: ['r/a'] })
    const stream = ads.envoy.world()
    stream.ask(VIRTUAL_HOST_TYPE, [], { node: current })
    expect(brief(await stream.next())).toBe('VirtualHost')
    stream.ask(LISTENER_TYPE)
    expect(brief(await stream.next())).toBe('Listener l')
  })
})
