// A real Envoy with Gatehouse's ADS server, over both protocols: what it is sent, what it NACKs, and what it keeps
// serving.

import { once } from 'node:events'
import type { Server } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../src/model/json.js'
import { ROUTE_TYPE } from '../../src/xds/encode/type-urls.js'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { cluster, listener } from '../support/ads-resources.js'
import type { RealAds, RealEnvoy } from '../support/ads-server.js'
import { realAds } from '../support/ads-server.js'

let ads: RealAds
let backends: Server[]
let port: number

beforeEach(async () => {
  backends = []
  port = await freePort()
})

afterEach(async () => {
  await ads.close()
  for (const backend of backends) backend.close()
})

/** Answers with its name; resolves to its port. */
async function backend(name: string): Promise<number> {
  const server = createServer((_, response) => response.end(name)).listen(0, '127.0.0.1')
  backends.push(server)
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

const routes = (
  cluster: string,
  match: JsonObject = { prefix: '/' },
  name = 'routes',
): JsonObject => ({
  '@type': ROUTE_TYPE,
  name,
  virtual_hosts: [{ name: `${name}/*`, domains: ['*'], routes: [{ match, route: { cluster } }] }],
})

async function get(on = port): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${String(on)}/`)
  return `${String(response.status)} ${await response.text()}`
}

/** Sends requests without pause until it is stopped, one of them before it returns; the distinct answers, in order of appearance. */
async function traffic() {
  const one = () => get().catch((error: unknown) => String(error))
  const answers = new Set([await one()])
  let on = true
  const running = (async () => {
    while (on) answers.add(await one())
  })()
  return {
    stop: async (): Promise<string[]> => {
      on = false
      await running
      return [...answers]
    },
  }
}

async function clusterNames(envoy: RealEnvoy): Promise<string[]> {
  const { cluster_statuses } = JSON.parse(await envoy.admin('/clusters?format=json')) as {
    cluster_statuses: { name: string; added_via_api?: boolean }[]
  }
  return cluster_statuses.filter((c) => c.added_via_api === true).map((c) => c.name)
}

const nacks = (): string[] =>
  ads.events.flatMap(({ kind, message }) => (kind === 'nack' ? [message ?? ''] : []))

describe.each([
  { protocol: 'state of the world', world: true, splits: false, types: 4 },
  {
    protocol: 'incremental, with whole route configurations',
    world: false,
    splits: false,
    types: 4,
  },
  { protocol: 'incremental', world: false, splits: true, types: 5 },
])('$protocol', ({ world, splits, types }) => {
  beforeEach(async () => {
    ads = await realAds(splits)
    await ads.start()
  })

  const connect = () => ads.startEnvoy({ cluster: 'default/gw', world })

  test('serves, moves traffic to a new cluster without a failed request, and removes the old', async () => {
    const [one, two] = [await backend('one'), await backend('two')]
    ads.publish({ 'default/gw': [listener(port), routes('one'), ...cluster('one', one)] })
    const envoy = await connect()
    expect(await get()).toBe('200 one')
    await eventually(() => expect(ads.settled()).toBe(true))

    const requests = await traffic()
    ads.publish({ 'default/gw': [listener(port), routes('two'), ...cluster('two', two)] })
    await eventually(async () => expect(await get()).toBe('200 two'))
    await eventually(async () => expect(await clusterNames(envoy)).toEqual(['two']))
    expect(await requests.stop()).toEqual(['200 one', '200 two'])
    expect(nacks()).toEqual([])
  })

  test('a cluster that changes is in force at once, with the endpoints that it has', async () => {
    const [first, endpoints] = cluster('one', await backend('one'))
    const common = [listener(port), routes('one'), endpoints ?? {}]
    ads.publish({ 'default/gw': [...common, first ?? {}] })
    const envoy = await connect()
    await eventually(() => expect(ads.settled()).toBe(true))
    const requests = await traffic()
    ads.publish({ 'default/gw': [...common, { ...first, connect_timeout: '2s' }] })
    const active = () => envoy.admin('/config_dump?resource=dynamic_active_clusters')
    await eventually(async () => expect(await active()).toContain('"2s"'), 8_000)
    expect(await envoy.admin('/stats?filter=cluster_manager.warming_clusters')).toContain(': 0')
    expect(await requests.stop()).toEqual(['200 one'])
  })

  test('a listener that is new is opened, one that is gone is closed', async () => {
    const other = await freePort()
    const one = await backend('one')
    const common = [routes('one'), ...cluster('one', one)]
    ads.publish({ 'default/gw': [listener(port), ...common] })
    await connect()
    expect(await get()).toBe('200 one')
    ads.publish({ 'default/gw': [listener(other), ...common] })
    await eventually(async () => expect(await get(other)).toBe('200 one'))
    await eventually(() => expect(get()).rejects.toThrow())
  })

  test('what Envoy refuses is reported, does no harm, and is mended by the next version', async () => {
    const [one, two] = [await backend('one'), await backend('two')]
    const common = [listener(port), ...cluster('one', one), ...cluster('two', two)]
    ads.publish({ 'default/gw': [...common, routes('one')] })
    await connect()
    expect(await get()).toBe('200 one')

    ads.publish({ 'default/gw': [...common, routes('two', { safe_regex: { regex: '(' } })] })
    await eventually(() => expect(nacks()[0]).toContain('missing )'))
    expect(await get()).toBe('200 one')
    expect(ads.settled()).toBe(false)

    ads.publish({ 'default/gw': [...common, routes('two', { safe_regex: { regex: '/.*' } })] })
    await eventually(async () => expect(await get()).toBe('200 two'))
    await eventually(() => expect(ads.settled()).toBe(true))
    for (const reason of nacks()) expect(reason).toContain('missing )')
  })

  test('a listener whose port another process has is opened once that is free', async () => {
    const one = await backend('one')
    const other = createServer((_, response) => response.end('other')).listen(0, '127.0.0.1')
    await once(other, 'listening')
    const taken = (other.address() as AddressInfo).port
    const common = [routes('one'), ...cluster('one', one)]
    ads.publish({ 'default/gw': [listener(port), listener(taken), ...common] })
    await connect()
    await eventually(() => expect(nacks().join()).toContain('cannot bind'))
    expect(await get(taken)).toBe('200 other')
    await eventually(async () => expect(await get()).toBe('200 one'))
    other.closeAllConnections()
    other.close()
    await once(other, 'close')
    await eventually(async () => expect(await get(taken)).toBe('200 one'), 60_000)
    await eventually(() => expect(ads.settled()).toBe(true))
  })

  test('a new stream at the same version leaves nothing warming, and takes the next change', async () => {
    const [one, two] = [await backend('one'), await backend('two')]
    const common = [listener(port), ...cluster('one', one), ...cluster('two', two)]
    ads.publish({ 'default/gw': [...common, routes('one')] })
    const envoy = await connect()
    const requests = await traffic()
    ads.events.length = 0
    ads.endStreams()
    await eventually(() => expect(ads.events.filter(acknowledged)).toHaveLength(types))
    expect(await envoy.admin('/stats?filter=cluster_manager.warming_clusters')).toContain(': 0')
    expect(await envoy.admin('/stats?filter=total_listeners_warming')).toContain(': 0')
    ads.publish({ 'default/gw': [...common, routes('two')] })
    await eventually(async () => expect(await get()).toBe('200 two'))
    expect(await requests.stop()).toEqual(['200 one', '200 two'])
  })

  test('traffic continues while the server is down, and changes arrive when it is back', async () => {
    const [one, two] = [await backend('one'), await backend('two')]
    const common = [listener(port), ...cluster('one', one), ...cluster('two', two)]
    ads.publish({ 'default/gw': [...common, routes('one')] })
    await connect()
    const requests = await traffic()
    await ads.stop()
    expect(await get()).toBe('200 one')
    ads.publish({ 'default/gw': [...common, routes('two')] })
    await ads.start()
    await eventually(async () => expect(await get()).toBe('200 two'), 30_000)
    expect(await requests.stop()).toEqual(['200 one', '200 two'])
  })

  test('a cluster removed while the server was down is removed after the routes to it: no request is lost', async () => {
    const [one, two] = [await backend('one'), await backend('two')]
    ads.publish({ 'default/gw': [listener(port), routes('one'), ...cluster('one', one)] })
    const envoy = await connect()
    expect(await get()).toBe('200 one')
    await eventually(() => expect(ads.settled()).toBe(true))
    const requests = await traffic()
    await ads.stop()
    ads.publish({ 'default/gw': [listener(port), routes('two'), ...cluster('two', two)] })
    await ads.start()
    await eventually(async () => expect(await get()).toBe('200 two'), 30_000)
    await eventually(async () => expect(await clusterNames(envoy)).toEqual(['two']))
    expect(await requests.stop()).toEqual(['200 one', '200 two'])
  })

  test('two Envoys get the gateways that they serve', async () => {
    const other = await freePort()
    const [one, two] = [await backend('one'), await backend('two')]
    ads.publish({
      'default/gw': [listener(port), routes('one'), ...cluster('one', one)],
      'default/other': [listener(other), routes('two'), ...cluster('two', two)],
    })
    await Promise.all([connect(), ads.startEnvoy({ cluster: 'default/other', world })])
    expect([await get(port), await get(other)]).toEqual(['200 one', '200 two'])
  })
})

const acknowledged = ({ kind }: { readonly kind: string }): boolean => kind === 'ack'
