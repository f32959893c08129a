// A real Envoy serves what was published last, whatever came before: routes, clusters, listeners and connections that come
// and go.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../src/model/json.js'
import { ROUTE_TYPE } from '../../src/xds/encode/type-urls.js'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { cluster, listener } from '../support/ads-resources.js'
import { type RealAds, realAds } from '../support/ads-server.js'
import { type Backend, startBackend } from '../support/backend.js'
import { send } from '../support/http.js'
import { createRandom } from '../support/random.js'

const STEPS = 100
const NODE = 'default/gw'
/** Domains of virtual hosts. */
const DOMAINS = ['a.test', 'b.test', '*.test', '*']
/** Hosts of requests, with the domains that match each, the most specific first. */
const HOSTS = {
  'a.test': ['a.test', '*.test', '*'],
  'b.test': ['b.test', '*.test', '*'],
  'c.test': ['*.test', '*'],
  'other.example': ['*'],
} as const
const CLUSTERS = ['red', 'green', 'blue']
const BACKENDS = ['one', 'two'] as const

/** A cluster: where its endpoint is, and something else that can change. */
interface Cluster {
  readonly backend: (typeof BACKENDS)[number]
  readonly timeout: string
}

/** What is published. */
interface State {
  /** For each listener the cluster of each domain; undefined if there is no such listener. */
  readonly listeners: readonly (ReadonlyMap<string, string> | undefined)[]
  readonly clusters: Readonly<Record<string, Cluster>>
}

type Random = (below: number) => number

const oneOf = <T>(list: readonly T[], random: Random): T => list[random(list.length)] as T

/** Changes about a half: some domains stay as they are, some are new, and often there are none. */
function next({ listeners, clusters }: State, random: Random): State {
  const chance = (percent: number): boolean => random(100) < percent
  const changed = (hosts: State['listeners'][number]): State['listeners'][number] => {
    if (chance(10)) return undefined
    if (chance(30)) return new Map()
    const chosen = DOMAINS.filter(() => chance(50))
    return new Map(
      chosen.map((domain) => [
        domain,
        (chance(50) ? hosts?.get(domain) : undefined) ?? oneOf(CLUSTERS, random),
      ]),
    )
  }
  return {
    listeners: listeners.map((hosts) => (chance(50) ? hosts : changed(hosts))),
    clusters: Object.fromEntries(
      Object.entries(clusters).map(([name, before]) => [
        name,
        {
          backend: chance(70) ? before.backend : oneOf(BACKENDS, random),
          timeout: chance(70) ? before.timeout : `${String(1 + random(5))}s`,
        },
      ]),
    ),
  }
}

const EMPTY: State = {
  listeners: [new Map(), new Map()],
  clusters: Object.fromEntries(CLUSTERS.map((name) => [name, { backend: 'one', timeout: '1s' }])),
}

const routes = (name: string, hosts: ReadonlyMap<string, string>): JsonObject => ({
  '@type': ROUTE_TYPE,
  name,
  virtual_hosts: [...hosts].map(([domain, to]) => ({
    name: `${name}/${domain}`,
    domains: [domain],
    routes: [{ match: { prefix: '/' }, route: { cluster: to } }],
  })),
})

describe.each([
  { protocol: 'state of the world', world: true, splits: false },
  { protocol: 'incremental, with whole route configurations', world: false, splits: false },
  { protocol: 'incremental', world: false, splits: true },
])('$protocol', ({ world, splits }) => {
  let ads: RealAds
  let ports: readonly number[]
  let backends: Readonly<Record<Cluster['backend'], Backend>>

  beforeAll(async () => {
    ports = [await freePort(), await freePort()]
    backends = { one: await startBackend('one'), two: await startBackend('two') }
    for (const name of BACKENDS) backends[name].answer((_, response) => response.end(name))
    ads = await realAds(splits)
    await ads.start()
    publish(EMPTY)
    await ads.startEnvoy({ cluster: NODE, world })
  })
  afterAll(async () => {
    await ads.close()
    await Promise.all(BACKENDS.map((name) => backends[name].close()))
  })

  function publish({ listeners, clusters }: State): void {
    const used = new Set(listeners.flatMap((hosts) => [...(hosts?.values() ?? [])]))
    ads.publish({
      [NODE]: [
        ...ports.flatMap((port, index) => {
          const hosts = listeners[index]
          const name = `${NODE}/${String(index)}`
          return hosts === undefined ? [] : [listener(port, name), routes(name, hosts)]
        }),
        ...Object.entries(clusters).flatMap(([name, { backend, timeout }]) => {
          if (!used.has(name)) return []
          const [own = {}, endpoints = {}] = cluster(name, backends[backend].port)
          return [{ ...own, connect_timeout: timeout }, endpoints]
        }),
      ],
    })
  }

  async function expectServed({ listeners, clusters }: State): Promise<void> {
    for (const [index, port] of ports.entries()) {
      const hosts = listeners[index]
      const origin = `http://127.0.0.1:${String(port)}`
      const ask = async (host: string) => {
        const { status, body } = await send(origin, '/', { headers: { host } })
        return `${host}: ${String(status)} ${body}`
      }
      if (hosts === undefined) await expect(ask('a.test')).rejects.toThrow()
      else
        for (const [host, domains] of Object.entries(HOSTS)) {
          const domain = domains.find((each) => hosts.has(each))
          const to = clusters[hosts.get(domain ?? '') ?? '']
          expect(await ask(host)).toBe(
            `${host}: ${to === undefined ? '404 ' : `200 ${to.backend}`}`,
          )
        }
    }
  }

  test('serves what was published last', async () => {
    const random = createRandom(41)
    let state = EMPTY
    for (let step = 0; step < STEPS; step += 1) {
      const connection = random(10)
      if (connection === 0) await ads.stop()
      if (connection === 1) ads.endStreams()
      // Nobody waits for some of the states.
      for (let left = random(3); left >= 0; left -= 1) {
        state = next(state, random)
        publish(state)
      }
      if (connection === 0) await ads.start()
      await eventually(() => expectServed(state), 30_000)
    }
    expect(ads.events.filter(({ kind }) => kind === 'nack')).toEqual([])
  }, 300_000)
})
