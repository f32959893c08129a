// A real Envoy serves what was published last, whatever came before: routes, listeners and connections that come and go.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../src/ir/json.js'
import { ROUTE_TYPE } from '../../src/xds/encode/type-urls.js'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { listener } from '../support/ads-resources.js'
import { type RealAds, realAds } from '../support/ads-server.js'
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

/** The answers of a listener by domain; undefined if there is no listener. */
type Answers = ReadonlyMap<string, string> | undefined

const routes = (name: string, answers: ReadonlyMap<string, string>): JsonObject => ({
  '@type': ROUTE_TYPE,
  name,
  virtual_hosts: [...answers].map(([domain, text]) => ({
    name: `${name}/${domain}`,
    domains: [domain],
    routes: [
      {
        match: { prefix: '/' },
        direct_response: { status: 200, body: { inline_string: text } },
      },
    ],
  })),
})

async function ask(port: number, host: string): Promise<string> {
  const { status, body } = await send(`http://127.0.0.1:${String(port)}`, '/', {
    headers: { host },
  })
  return `${String(status)} ${body}`
}

async function expectServed(port: number, answers: Answers): Promise<void> {
  if (answers === undefined) return expect(ask(port, 'a.test')).rejects.toThrow()
  for (const [host, domains] of Object.entries(HOSTS)) {
    const domain = domains.find((each) => answers.has(each))
    const expected = domain === undefined ? '404 ' : `200 ${answers.get(domain) ?? ''}`
    expect(`${host}: ${await ask(port, host)}`).toBe(`${host}: ${expected}`)
  }
}

/** Changes the answers: some stay as they are, some are new, and often there are none. */
function changed(answers: Answers, text: string, random: (below: number) => number): Answers {
  const chance = (percent: number): boolean => random(100) < percent
  if (chance(10)) return undefined
  if (chance(30)) return new Map()
  const chosen = DOMAINS.filter(() => chance(50))
  return new Map(
    chosen.map((domain) => [
      domain,
      (chance(50) ? answers?.get(domain) : undefined) ?? `${domain} ${text}`,
    ]),
  )
}

describe.each([
  { protocol: 'state of the world', world: true, splits: false },
  { protocol: 'incremental, with whole route configurations', world: false, splits: false },
  { protocol: 'incremental', world: false, splits: true },
])('$protocol', ({ world, splits }) => {
  let ads: RealAds
  let ports: readonly number[]

  beforeAll(async () => {
    ports = [await freePort(), await freePort()]
    ads = await realAds(splits)
    await ads.start()
    publish(ports.map(() => new Map()))
    await ads.startEnvoy({ cluster: NODE, world })
  })
  afterAll(() => ads.close())

  const portAt = (index: number): number => ports[index] ?? 0

  const publish = (listeners: readonly Answers[]): void =>
    ads.publish({
      [NODE]: listeners.flatMap((answers, index) => {
        const name = `${NODE}/${String(index)}`
        return answers === undefined ? [] : [listener(portAt(index), name), routes(name, answers)]
      }),
    })

  test('serves what was published last', async () => {
    const random = createRandom(41)
    let listeners: readonly Answers[] = ports.map(() => new Map())
    for (let step = 0; step < STEPS; step += 1) {
      const connection = random(10)
      if (connection === 0) await ads.stop()
      if (connection === 1) ads.endStreams()
      // Nobody waits for some of the states.
      for (let left = random(3); left >= 0; left -= 1) {
        listeners = listeners.map((answers) =>
          random(2) === 0 ? answers : changed(answers, `${String(step)}.${String(left)}`, random),
        )
        publish(listeners)
      }
      if (connection === 0) await ads.start()
      await eventually(
        () => Promise.all(listeners.map((answers, i) => expectServed(portAt(i), answers))),
        30_000,
      )
    }
  }, 300_000)
})
