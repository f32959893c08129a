// A real Envoy that gets virtual hosts one by one (VHDS): additions and removals take effect, no listener waits for
// ever, and no request is lost.

import { once } from 'node:events'
import { Agent, createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { JsonObject } from '../../src/model/json.js'
import { ROUTE_TYPE } from '../../src/xds/encode/type-urls.js'
import { WAITS } from '../../src/xds/server/waits.js'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { cluster, listener } from '../support/ads-resources.js'
import { type RealAds, realAds } from '../support/ads-server.js'

let ads: RealAds
let backends: readonly Server[]
let clusters: readonly JsonObject[]
let port: number
let other: number

beforeEach(async () => {
  backends = await Promise.all(['one', 'two'].map(startBackend))
  const [one, two] = backends.map((server) => (server.address() as AddressInfo).port)
  clusters = [...cluster('one', one ?? 0), ...cluster('two', two ?? 0)]
  port = await freePort()
  other = await freePort()
  ads = await realAds()
  await ads.start()
})

afterEach(async () => {
  await ads.close()
  for (const backend of backends) backend.close()
})

/** Answers with its name. */
async function startBackend(name: string): Promise<Server> {
  const server = createServer((_, response) => response.end(name)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

/** hosts: domain → cluster. */
const routes = (name: string, hosts: Readonly<Record<string, string>>): JsonObject => ({
  '@type': ROUTE_TYPE,
  name,
  virtual_hosts: Object.entries(hosts).map(([domain, to]) => host(name, domain, to)),
})

const host = (routes: string, domain: string, to: string, match: JsonObject = { prefix: '/' }) => ({
  name: `${routes}/${domain}`,
  domains: [domain],
  routes: [{ match, route: { cluster: to } }],
})

const publish = (...resources: readonly JsonObject[]): void =>
  ads.publish({ 'default/gw': [...resources, ...clusters] })

/** GETs x until it is stopped; the distinct answers. */
function traffic() {
  const answers = new Set<string>()
  let on = true
  const running = (async () => {
    while (on) answers.add(await get('x').catch(String))
  })()
  return async (): Promise<readonly string[]> => {
    on = false
    await running
    return [...answers]
  }
}

const startEnvoy = () => ads.startEnvoy({ cluster: 'default/gw', world: false })

async function get(host: string, on = port, agent: Agent | false = false): Promise<string> {
  const asked = request({ host: '127.0.0.1', port: on, headers: { host }, agent }).end()
  const [response] = (await once(asked, 'response')) as [
    AsyncIterable<Buffer> & { statusCode: number },
  ]
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk)
  return `${String(response.statusCode)} ${Buffer.concat(chunks).toString()}`
}

const becomes = (host: string, answer: string, on = port) =>
  eventually(async () => expect(await get(host, on).catch(String)).toBe(answer))

const sent = (): readonly string[] =>
  ads.events.splice(0).flatMap(({ kind, type }) => (kind === 'sent' ? [type] : []))

const settled = () => eventually(() => expect(ads.settled()).toBe(true))

test('hosts come, change and go by themselves, and the others lose no request', async () => {
  publish(listener(port, 'r'), routes('r', { 'a.example': 'one' }))
  await startEnvoy()
  expect(await get('a.example')).toBe('200 one')
  await settled()
  sent()
  let on = true
  const answers = new Set<string>()
  const traffic = (async () => {
    while (on) answers.add(await get('a.example').catch(String))
  })()
  publish(listener(port, 'r'), routes('r', { 'a.example': 'one', '*.example': 'one' }))
  await becomes('b.example', '200 one')
  publish(listener(port, 'r'), routes('r', { 'a.example': 'one', '*.example': 'two' }))
  await becomes('b.example', '200 two')
  publish(listener(port, 'r'), routes('r', { 'a.example': 'one' }))
  await becomes('b.example', '404 ')
  on = false
  await traffic
  expect([...answers]).toEqual(['200 one'])
  expect(sent()).toEqual(['VirtualHost', 'VirtualHost', 'VirtualHost'])
})

test('a listener that is added later, taken away and added again gets its hosts each time', async () => {
  const first = [listener(port, 'r'), routes('r', { '*': 'one' })]
  const second = [listener(other, 's'), routes('s', { '*': 'two' })]
  publish(...first)
  await startEnvoy()
  for (let round = 1; round <= 2; round += 1) {
    publish(...first, ...second)
    await becomes('x', '200 two', other)
    publish(...first)
    await eventually(() => expect(get('x', other)).rejects.toThrow())
    await settled()
  }
  expect(await get('x')).toBe('200 one')
})

test('a listener with another route configuration now loses no request for a while, on old connections or new ones', async () => {
  await ads.close()
  ads = await realAds(true, WAITS.lingerMs)
  await ads.start()
  publish(listener(port, 'r'), routes('r', { '*': 'one' }))
  await startEnvoy()
  const kept = new Agent({ keepAlive: true, maxSockets: 1 })
  expect(await get('x', port, kept)).toBe('200 one')
  await settled()
  const answers = new Set<string>()
  let count = 0
  publish(listener(port, 's'), routes('s', { '*': 'one', 'new.example': 'two' }))
  await eventually(async () => {
    for (const agent of [kept, false] as const)
      answers.add(await get('x', port, agent).catch(String))
    count += 1
    expect(await get('new.example')).toBe('200 two')
    expect(count).toBeGreaterThan(50)
  })
  await settled()
  expect([...answers]).toEqual(['200 one'])
  kept.destroy()
})

test('a host is removed while Envoy NACKs a listener', async () => {
  const { port: taken } = backends[0]?.address() as AddressInfo
  const refused = { ...listener(taken, 's'), enable_reuse_port: false }
  const common = [listener(port, 'r'), refused, routes('s', { '*': 'one' })]
  publish(...common, routes('r', { 'a.example': 'one', 'b.example': 'one' }))
  await startEnvoy()
  await becomes('b.example', '200 one')
  publish(...common, routes('r', { 'a.example': 'one' }))
  await becomes('b.example', '404 ')
  expect(await get('a.example')).toBe('200 one')
  expect(ads.events.some(({ kind }) => kind === 'nack')).toBe(true)
})

test('a route configuration may have no host at first, and none in the end', async () => {
  publish(listener(port, 'r'), routes('r', {}))
  await startEnvoy()
  expect(await get('x')).toBe('404 ')
  publish(listener(port, 'r'), routes('r', { '*': 'one' }))
  await becomes('x', '200 one')
  publish(listener(port, 'r'), routes('r', {}))
  await becomes('x', '404 ')
  await settled()
})

test('one host that Envoy refuses keeps no other from changing', async () => {
  const of = (to: string, match?: JsonObject): JsonObject => ({
    ...routes('r', {}),
    virtual_hosts: [host('r', 'bad.example', to, match), host('r', 'good.example', to)],
  })
  publish(listener(port, 'r'), of('one'))
  await startEnvoy()
  expect([await get('bad.example'), await get('good.example')]).toEqual(['200 one', '200 one'])
  publish(listener(port, 'r'), of('two', { safe_regex: { regex: '(' } }))
  await becomes('good.example', '200 two')
  expect(await get('bad.example')).toBe('200 one')
  publish(listener(port, 'r'), of('two'))
  await becomes('bad.example', '200 two')
  await settled()
})

test('one host among hundreds that Envoy refuses is found with few responses, on a new Envoy too', async () => {
  const of = (names: readonly string[], bad: string, to: string): JsonObject => ({
    ...routes('r', {}),
    virtual_hosts: names.map((name) =>
      host('r', `${name}.example`, to, name === bad ? { safe_regex: { regex: '(' } } : undefined),
    ),
  })
  const names = Array.from({ length: 300 }, (_, index) => `h${String(index)}`)
  const isServed = (to: string, bad: string) =>
    eventually(async () => {
      for (const name of names.slice(1))
        if (name !== bad) expect(await get(`${name}.example`)).toBe(`200 ${to}`)
    })
  publish(listener(port, 'r'), of(names, 'h123', 'one'))
  await startEnvoy()
  await isServed('one', 'h123')
  expect(await get('h123.example')).toBe('404 ')
  expect(sent().filter((type) => type === 'VirtualHost').length).toBeLessThan(25)
  publish(listener(port, 'r'), of(names.slice(1), 'h250', 'two'))
  await isServed('two', 'h250')
  expect([await get('h0.example'), await get('h250.example')]).toEqual(['404 ', '200 one'])
  expect(sent().filter((type) => type === 'VirtualHost').length).toBeLessThan(25)
})

test('a cluster removed while the server was down is removed after the hosts that named it', async () => {
  const [one, two] = [clusters.slice(0, 2), clusters.slice(2)]
  const common = listener(port, 'r')
  ads.publish({ 'default/gw': [common, routes('r', { '*': 'one' }), ...one] })
  const envoy = await startEnvoy()
  await settled()
  const stop = traffic()
  expect(await get('x')).toBe('200 one')
  await ads.stop()
  ads.publish({ 'default/gw': [common, routes('r', { '*': 'two' }), ...two] })
  await ads.start()
  await becomes('x', '200 two')
  await eventually(async () => expect(await envoy.admin('/clusters')).not.toMatch(/^one::/m))
  expect((await stop()).filter((answer) => !answer.startsWith('200 '))).toEqual([])
})

test('a listener that went with a refused one comes back, also after a new stream', async () => {
  const { port: taken } = backends[0]?.address() as AddressInfo
  const common = [routes('r', { '*': 'one' })]
  publish(listener(port, 'r'), ...common)
  await startEnvoy()
  await becomes('x', '200 one')
  publish({ ...listener(taken, 'r'), enable_reuse_port: false }, ...common)
  await eventually(() => expect(ads.events.some(({ kind }) => kind === 'nack')).toBe(true))
  await eventually(async () => expect(await get('x').catch(String)).not.toBe('200 one'))
  ads.endStreams()
  publish(listener(port, 'r'), ...common)
  await becomes('x', '200 one')
})

test('a new stream and a new server change nothing, and the next change comes', async () => {
  publish(listener(port, 'r'), routes('r', { '*': 'one' }))
  const envoy = await startEnvoy()
  ads.endStreams()
  await ads.stop()
  await ads.start()
  await eventually(() => expect(sent()).toContain('VirtualHost'))
  expect(await get('x')).toBe('200 one')
  expect(await envoy.admin('/stats?filter=rds.vhds.r.config_reload')).toContain(': 1')
  publish(listener(port, 'r'), routes('r', { '*': 'two' }))
  await becomes('x', '200 two')
})
