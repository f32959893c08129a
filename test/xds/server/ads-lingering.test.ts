// Clusters that no route names any more stay for a while: requests that are being checked have chosen their route already.
// So do the virtual hosts of a listener that drains.
// The tests control the clock.

import { create } from '@bufbuild/protobuf'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  DeltaDiscoveryRequestSchema,
  DiscoveryRequestSchema,
} from '../../../src/wire/grpc/generated/envoy/service/discovery/v3/discovery_pb.js'
import {
  CLUSTER_TYPE,
  ENDPOINT_TYPE,
  LISTENER_TYPE,
  ROUTE_TYPE,
  shortType,
  VIRTUAL_HOST_TYPE,
} from '../../../src/xds/encode/type-urls.js'
import { incremental, world } from '../../../src/xds/server/ads-server.js'
import { AdsStream } from '../../../src/xds/server/ads-stream.js'
import { SharedViews } from '../../../src/xds/server/shared-views.js'
import type { NodeSnapshot } from '../../../src/xds/server/snapshot-cache.js'
import type { Protocol, Push } from '../../../src/xds/server/type-stream.js'
import { type Contents, nodeSnapshot } from './fake-envoy.js'

const LINGER_S = 15

let snapshot: NodeSnapshot
let stream: AdsStream
/** Second, type and names of each response. */
let sent: string[]
/** Types whose responses Envoy leaves unanswered. */
let silent: Set<string>
let lastNonce: string

const namesOf = ({ resources, removed }: Push): string =>
  [...resources.map(({ name }) => name), ...removed.map((name) => `-${name}`)].join(' ')

function request(protocol: Protocol, typeUrl: string, responseNonce: string): void {
  const names = typeUrl === ROUTE_TYPE ? ['r'] : typeUrl === ENDPOINT_TYPE ? ['old', 'new'] : []
  const first = responseNonce === ''
  stream.handle(
    protocol === 'incremental'
      ? incremental.read(
          create(DeltaDiscoveryRequestSchema, {
            typeUrl,
            responseNonce,
            resourceNamesSubscribe: first ? names : [],
          }),
        )
      : world.read(
          create(DiscoveryRequestSchema, { typeUrl, responseNonce, resourceNames: names }),
        ),
  )
}

/** Envoy asks for everything, and answers each response a moment later. */
function open(protocol: Protocol): void {
  stream = new AdsStream({
    views: new SharedViews(),
    protocol,
    waits: { patienceMs: 60_000, lingerMs: LINGER_S * 1_000 },
    snapshot: () => snapshot,
    write: (push, done) => {
      lastNonce = push.nonce
      const second = Math.floor(performance.now() / 1_000)
      sent.push(`${String(second)}: ${shortType(push.typeUrl)} ${namesOf(push)}`)
      setTimeout(() => {
        done()
        if (!silent.has(push.typeUrl)) request(protocol, push.typeUrl, push.nonce)
      }, 10)
    },
    onAck: () => undefined,
    onNack: () => undefined,
  })
  for (const type of [CLUSTER_TYPE, ENDPOINT_TYPE, LISTENER_TYPE, ROUTE_TYPE])
    request(protocol, type, '')
  pass(1)
  sent = []
}

const of = (cluster: string): Contents => ({
  clusters: [cluster],
  endpoints: [cluster],
  listeners: ['l'],
  routes: [`r=${cluster}`],
})

function publish(contents: Contents): void {
  snapshot = nodeSnapshot(contents)
  stream.push()
}

const pass = (seconds: number): void => void vi.advanceTimersByTime(seconds * 1_000)

const removals = (): readonly string[] => sent.filter((line) => line.includes(' -'))

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'], now: 0 })
  snapshot = nodeSnapshot(of('old'))
  silent = new Set()
  sent = []
})

afterEach(() => {
  stream.close()
  vi.useRealTimers()
})

describe('a cluster and its endpoints whose route is gone', () => {
  test('are removed when they have lingered', () => {
    open('incremental')
    publish(of('new'))
    pass(LINGER_S - 1)
    expect(sent).toEqual([
      '1: Cluster new',
      '1: ClusterLoadAssignment new',
      '1: RouteConfiguration r',
    ])
    pass(2)
    expect(removals()).toEqual(['16: Cluster -old', '16: ClusterLoadAssignment -old'])
  })

  test('linger from the time at which Envoy has the new routes', () => {
    open('incremental')
    silent.add(ROUTE_TYPE)
    publish(of('new'))
    pass(30)
    expect(removals()).toEqual([])
    silent.clear()
    request('incremental', ROUTE_TYPE, lastNonce)
    pass(LINGER_S - 1)
    expect(removals()).toEqual([])
    pass(2)
    expect(removals()).toEqual(['46: Cluster -old', '46: ClusterLoadAssignment -old'])
  })

  test('are removed while other routes go on changing', () => {
    open('incremental')
    publish(of('new'))
    for (let second = 1; second < 2 * LINGER_S; second += 1) {
      pass(1)
      publish({ ...of('new'), routes: [`r=${String(second)}`] })
    }
    expect(removals()).toEqual(['16: Cluster -old', '16: ClusterLoadAssignment -old'])
  })

  test('linger anew when they were wanted again', () => {
    open('incremental')
    publish(of('new'))
    pass(10)
    publish({ ...of('old'), clusters: ['new', 'old'] })
    pass(1)
    publish(of('new'))
    pass(LINGER_S - 1)
    expect(removals()).toEqual([])
    pass(2)
    expect(removals()).toEqual(['27: Cluster -old', '27: ClusterLoadAssignment -old'])
  })

  test('are in each state of the world until they have lingered, one by one', () => {
    open('state-of-the-world')
    publish(of('new'))
    pass(5)
    publish(of('newer'))
    pass(LINGER_S - 1)
    expect(sent.filter((line) => line.includes(' Cluster '))).toEqual([
      '1: Cluster new old',
      '6: Cluster newer new old',
      '16: Cluster newer new -old',
    ])
    pass(2)
    expect(sent.at(-1)).toBe('21: Cluster newer -new')
  })
})

describe('the virtual hosts of a listener that is gone', () => {
  const served: Contents = { listeners: ['l'], routes: ['r'], hosts: ['r/a'] }

  const openWithHosts = (): void => {
    snapshot = nodeSnapshot(served)
    open('incremental')
    request('incremental', VIRTUAL_HOST_TYPE, '')
    pass(1)
    sent = []
  }

  test('linger for its connections, which are draining, and are then removed', () => {
    openWithHosts()
    publish({})
    pass(LINGER_S - 1)
    expect(sent).toEqual(['2: Listener -l', '2: RouteConfiguration -r'])
    pass(2)
    expect(sent.at(-1)).toBe('17: VirtualHost -r/a')
  })

  test('are sent again if it comes back later', () => {
    openWithHosts()
    publish({})
    pass(LINGER_S + 1)
    sent = []
    publish(served)
    pass(1)
    expect(sent).toEqual(['18: Listener l', '18: RouteConfiguration r', '18: VirtualHost r/a'])
  })

  test('do not linger as long as it is there', () => {
    openWithHosts()
    publish({ ...served, hosts: [] })
    pass(1)
    expect(sent).toEqual(['2: VirtualHost -r/a'])
  })
})
