// What the servers see while one snapshot replaces another, and how long vanished keys stay (decision 33).

import { beforeEach, describe, expect, test } from 'vitest'
import { buildSnapshot, type Snapshot } from '../../../src/control/publish/build-snapshot.js'
import { createPublisher, type Publisher } from '../../../src/control/publish/publisher.js'
import type { AuthzEntry } from '../../../src/model/authz-entry.js'
import type { Ir } from '../../../src/model/ir.js'

const OPTIONS = {
  listenAddress: '127.0.0.1',
  trustedHops: 0,
  systemCaFile: '/ca.pem',
  accessLog: false,
}

const routeOf = (key: string): string => `default/${key.slice(0, 1)}`

const entry = (key: string): AuthzEntry => ({
  key,
  route: routeOf(key),
  paths: [{ type: 'PathPrefix', value: '/mcp' }],
})

const irOf = (...keys: readonly string[]): Ir => ({
  gateways: [],
  destinations: [],
  certificates: [],
  authz: keys.map(entry),
  proc: keys.map((key) => ({
    type: 'well-known',
    key,
    route: routeOf(key),
    paths: { mcpPath: '/mcp' },
    resourceMetadata: {},
    serverMetadata: { metadataIssuer: 'Provider', clientIdConfigured: false },
    registration: { type: 'answer', clientId: 'c' },
  })),
})

const snapshotOf = (...keys: readonly string[]): Snapshot => buildSnapshot(irOf(...keys), OPTIONS)

let settled: boolean
let now: number
let timers: { callback: () => void; at: number }[]
let events: string[]
let gone: (readonly string[])[]
let publisher: Publisher

beforeEach(() => {
  settled = true
  now = 1_000_000
  timers = []
  events = []
  gone = []
  publisher = createPublisher({
    cache: {
      set: () => events.push(`xds, with tables that have b: ${String(has('b'))}`),
    },
    onRoutesGone: (routes) => gone.push(routes),
    settled: () => settled,
    now: () => now,
    startTimer(callback, ms) {
      const timer = { callback, at: now + ms }
      timers.push(timer)
      return () => (timers = timers.filter((other) => other !== timer))
    },
  })
})

/** Lets so much time pass, timer by timer. */
function pass(ms: number): void {
  const end = now + ms
  for (;;) {
    const next = timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0]
    if (next === undefined) break
    timers = timers.filter((timer) => timer !== next)
    now = next.at
    next.callback()
  }
  now = end
}

const has = (key: string): readonly boolean[] => [
  publisher.authz.get(key) !== undefined,
  publisher.proc.get(key) !== undefined,
]

describe('publish', () => {
  test('swaps the tables before Envoy gets the snapshot', () => {
    publisher.publish(snapshotOf('b'))
    expect(events).toEqual(['xds, with tables that have b: true,true'])
  })

  test('does nothing for an equal revision', () => {
    expect(publisher.publish(snapshotOf('a'))).toBe(true)
    expect(publisher.publish(snapshotOf('a'))).toBe(false)
    expect(events).toHaveLength(1)
  })

  test('an unknown key is unknown, before and after the first snapshot', () => {
    expect(has('a')).toEqual([false, false])
    publisher.publish(snapshotOf('a'))
    expect(has('x')).toEqual([false, false])
    expect(publisher.current()?.revision).toBe(snapshotOf('a').revision)
  })
})

test('Envoy gets a snapshot when all other processes have its tables, version by version', async () => {
  const taken: (() => void)[] = []
  const told: unknown[] = []
  publisher = createPublisher({
    cache: { set: (xds) => void told.push(xds) },
    others: {
      publish: () => new Promise((resolve) => taken.push(resolve)),
      forget: () => undefined,
    },
    settled: () => true,
    now: () => now,
    startTimer: () => () => undefined,
  })
  const [first, second] = [snapshotOf('a'), snapshotOf('a', 'b')]
  publisher.publish(first)
  expect(publisher.publish(second)).toBe(true)
  expect([has('b'), told]).toEqual([[true, true], []])
  for (const take of taken) take()
  await Promise.resolve()
  expect(told).toEqual([first.xds, second.xds])
})

describe('a key that vanished', () => {
  beforeEach(() => {
    publisher.publish(snapshotOf('a', 'b'))
    publisher.publish(snapshotOf('b'))
  })

  test('stays for a minute and is gone soon after, when every Envoy has the new configuration', () => {
    pass(59_999)
    expect(has('a')).toEqual([true, true])
    pass(6_000)
    expect(has('a')).toEqual([false, false])
    expect(has('b')).toEqual([true, true])
  })

  test('stays longer while an Envoy has not accepted, and is removed when it has', () => {
    settled = false
    pass(300_000)
    expect(has('a')).toEqual([true, true])
    settled = true
    pass(6_000)
    expect(has('a')).toEqual([false, false])
  })

  test('is removed after ten minutes, even if Envoy has not accepted', () => {
    settled = false
    pass(599_999)
    expect(has('a')).toEqual([true, true])
    pass(6_000)
    expect(has('a')).toEqual([false, false])
  })

  test('that comes back is the new entry, and stays', () => {
    publisher.publish(snapshotOf('a', 'b', 'c'))
    pass(700_000)
    expect(has('a')).toEqual([true, true])
  })

  test('has a minute of its own when others vanished before it', () => {
    pass(50_000)
    publisher.publish(snapshotOf())
    pass(20_000)
    expect(has('a')).toEqual([false, false])
    expect(has('b')).toEqual([true, true])
    pass(46_000)
    expect(has('b')).toEqual([false, false])
  })

  test('leaves no timer behind, neither when it is gone nor after close', () => {
    publisher.close()
    expect(timers).toEqual([])
    publisher.publish(snapshotOf())
    pass(700_000)
    expect(timers).toEqual([])
  })
})

describe('a route', () => {
  test('is reported gone once, with the last of its keys', () => {
    publisher.publish(snapshotOf('a/0', 'a/1', 'b/0', 'c/0'))
    publisher.publish(snapshotOf('a/1', 'c/0'))
    pass(60_000)
    publisher.publish(snapshotOf('c/0'))
    pass(10_000)
    expect(gone).toEqual([['default/b']])
    pass(700_000)
    expect(gone).toEqual([['default/b'], ['default/a']])
  })

  test('is not gone if it comes back, or has another key instead', () => {
    publisher.publish(snapshotOf('a/0', 'b/0'))
    publisher.publish(snapshotOf('b/1'))
    pass(30_000)
    publisher.publish(snapshotOf('a/0', 'b/1'))
    pass(700_000)
    expect(gone).toEqual([])
  })

  test('is reported to other processes with the keys that they drop', () => {
    const told: (readonly [number, readonly string[]])[] = []
    publisher = createPublisher({
      cache: { set: () => undefined },
      others: {
        publish: () => Promise.resolve(),
        forget: (vanishedBy, routes) => void told.push([vanishedBy, routes]),
      },
      settled: () => true,
      now: () => now,
      startTimer(callback, ms) {
        timers.push({ callback, at: now + ms })
        return () => undefined
      },
    })
    publisher.publish(snapshotOf('a/0', 'b/0'))
    publisher.publish(snapshotOf('b/0'))
    const vanished = now
    pass(60_000)
    expect(told.at(-1)).toEqual([vanished, ['default/a']])
    // They lost the keys a moment later, when they had the tables.
    pass(10_000)
    expect(told.at(-1)).toEqual([vanished + 5_000, []])
    expect(timers).toEqual([])
  })
})

describe('an entry for the Envoys of some Gateways', () => {
  const forGateways = (...gateways: readonly string[]): Snapshot => {
    const ir = irOf('a')
    const limited = <Entry extends object>(entry: Entry) => ({ ...entry, gateways })
    return buildSnapshot(
      { ...ir, authz: ir.authz.map(limited), proc: ir.proc.map(limited) },
      OPTIONS,
    )
  }
  const hasFor = (gateway: string): readonly boolean[] => [
    publisher.authz.get('a', gateway) !== undefined,
    publisher.proc.get('a', gateway) !== undefined,
  ]

  test('is unknown to those of others, and not to callers with other rights', () => {
    publisher.publish(forGateways('shop/gw', 'shop/two'))
    expect(['shop/gw', 'shop/two'].map(hasFor)).toEqual([
      [true, true],
      [true, true],
    ])
    for (const other of ['bank/gw', 'shop/g', 'shop/gw2', ''])
      expect(hasFor(other)).toEqual([false, false])
    expect(has('a')).toEqual([true, true])
  })

  test('that names no Gateway is unknown to the Envoys of every Gateway', () => {
    publisher.publish(snapshotOf('a'))
    expect([hasFor('shop/gw'), has('a')]).toEqual([
      [false, false],
      [true, true],
    ])
  })

  test('stays for its own Gateways when it vanishes, and for no other', () => {
    publisher.publish(forGateways('shop/gw'))
    publisher.publish(snapshotOf())
    pass(59_999)
    expect([hasFor('shop/gw'), hasFor('bank/gw')]).toEqual([
      [true, true],
      [false, false],
    ])
    pass(6_000)
    expect(hasFor('shop/gw')).toEqual([false, false])
  })

  test('stays for a minute for a Gateway that its route was detached from, whatever changes meanwhile', () => {
    publisher.publish(forGateways('shop/gw', 'shop/two'))
    publisher.publish(forGateways('shop/two'))
    pass(20_000)
    publisher.publish(forGateways('bank/gw', 'shop/two'))
    pass(39_999)
    expect(['shop/gw', 'shop/two', 'bank/gw', 'bank/two'].map(hasFor)).toEqual([
      [true, true],
      [true, true],
      [true, true],
      [false, false],
    ])
    pass(6_000)
    expect(['shop/gw', 'shop/two', 'bank/gw'].map(hasFor)).toEqual([
      [false, false],
      [true, true],
      [true, true],
    ])
    pass(700_000)
    expect(timers).toEqual([])
  })

  test('that vanishes and comes back for other Gateways stays for the first until a minute has passed', () => {
    publisher.publish(forGateways('shop/gw'))
    publisher.publish(snapshotOf())
    pass(30_000)
    publisher.publish(forGateways('shop/two'))
    pass(29_000)
    expect(hasFor('shop/gw')).toEqual([true, true])
    pass(7_000)
    expect(hasFor('shop/gw')).toEqual([false, false])
  })
})
