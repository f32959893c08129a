// A NACKed batch is sent again by halves: how many responses it takes until all good resources are in force.

import { create } from '@bufbuild/protobuf'
import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import {
  DeltaDiscoveryRequestSchema,
  DiscoveryRequestSchema,
} from '../../../src/wire/grpc/generated/envoy/service/discovery/v3/discovery_pb.js'
import { LISTENER_TYPE, ROUTE_TYPE, VIRTUAL_HOST_TYPE } from '../../../src/xds/encode/type-urls.js'
import { incremental, world } from '../../../src/xds/server/ads-server.js'
import { AdsStream } from '../../../src/xds/server/ads-stream.js'
import { SharedViews } from '../../../src/xds/server/shared-views.js'
import type { NodeSnapshot } from '../../../src/xds/server/snapshot-cache.js'
import type { Protocol, Push } from '../../../src/xds/server/type-stream.js'
import { runs } from '../../support/runs.js'
import { type Contents, nodeSnapshot } from './fake-envoy.js'

let snapshot: NodeSnapshot
/** Names of what is refused, as an update or as a removal. */
let bad: Set<string>
let inForce: Set<string>
let inbox: Push[]
let stream: AdsStream
/** Whether nothing was refused any more, as of the last response that was accepted. */
let isAll: boolean | undefined

const open = (protocol: Protocol): AdsStream =>
  new AdsStream({
    views: new SharedViews(),
    protocol,
    snapshot: () => snapshot,
    write: (push, sent) => {
      inbox.push(push)
      sent()
    },
    onAck: (_type, _version, all) => (isAll = all),
    onNack: () => undefined,
    waits: { patienceMs: 60_000, lingerMs: 0 },
  })

const readDelta = (typeUrl: string, responseNonce = '', isRefused = false) =>
  incremental.read(
    create(DeltaDiscoveryRequestSchema, {
      typeUrl,
      responseNonce,
      ...(isRefused && { errorDetail: { code: 13, message: 'bad' } }),
    }),
  )

beforeEach(start)

function start(): void {
  snapshot = nodeSnapshot({})
  bad = new Set()
  inForce = new Set()
  inbox = []
  isAll = undefined
  stream = open('incremental')
  stream.handle(readDelta(VIRTUAL_HOST_TYPE))
  answer()
}

function publish(contents: Contents): void {
  snapshot = nodeSnapshot(contents)
  stream.push()
}

/** "a b -c" */
const briefly = ({ resources, removed }: Push): string =>
  [...resources.map(({ name }) => name), ...removed.map((name) => `-${name}`)].join(' ')

/** Answers the one response that is under way; what it held, or undefined: there is none. */
function answer(): string | undefined {
  expect(inbox.length).toBeLessThan(2)
  const push = inbox.shift()
  if (push === undefined) return undefined
  const { typeUrl, nonce, resources, removed } = push
  const isRefused = [...resources.map(({ name }) => name), ...removed].some((name) => bad.has(name))
  if (!isRefused) {
    for (const { name } of resources) inForce.add(name)
    for (const name of removed) inForce.delete(name)
  }
  stream.handle(readDelta(typeUrl, nonce, isRefused))
  return briefly(push)
}

/** Names in the responses, up to the last one that is sent without a request. */
function answerAll(): readonly string[] {
  const all: string[] = []
  for (let next = answer(); next !== undefined; next = answer()) {
    all.push(next)
    expect(all.length).toBeLessThan(300)
  }
  return all
}

const named = (count: number, prefix = 'h'): string[] =>
  Array.from({ length: count }, (_, index) => `r/${prefix}${String(index).padStart(4, '0')}`)

const to = (content: string, names: readonly string[]): string[] =>
  names.map((name) => `${name}=${content}`)

const without = (all: readonly string[]): Set<string> =>
  new Set(all.filter((name) => !bad.has(name)))

describe('of a thousand virtual hosts', () => {
  const all = named(1000)

  test.each([
    ['the first', [0], 21],
    ['one in the middle', [617], 21],
    ['the last', [999], 21],
    ['three', [3, 500, 998], 55],
    ['two neighbours', [123, 124], 31],
  ])('%s may be bad: the others are soon in force', (_which, indices, most) => {
    bad = new Set(indices.map((index) => all[index] ?? ''))
    publish({ hosts: all })
    const sent = answerAll()
    expect(inForce).toEqual(without(all))
    expect(sent.length).toBeLessThanOrEqual(most)
    for (const name of bad) expect(sent.filter((names) => names === name)).toHaveLength(1)
    stream.push()
    expect(inbox).toEqual([])
    expect(isAll).toBe(false)
    publish({ hosts: [...all.filter((name) => !bad.has(name)), ...to('good', [...bad])] })
    const mended = [...bad].sort().join(' ')
    bad.clear()
    expect(answerAll()).toEqual([mended])
    expect(isAll).toBe(true)
  })

  test('half are in force with the third response, three quarters with the fifth', () => {
    bad = new Set(all.slice(0, 1))
    publish({ hosts: all })
    const counts = Array.from({ length: 5 }, () => (answer(), inForce.size))
    expect(counts).toEqual([0, 0, 500, 500, 750])
  })
})

test('where all are bad, each is refused by itself once', () => {
  const all = named(100)
  bad = new Set(all)
  publish({ hosts: all })
  const sent = answerAll()
  expect(inForce).toEqual(new Set())
  expect(sent).toHaveLength(199)
  expect(sent.filter((names) => !names.includes(' ')).sort()).toEqual(all)
})

describe('a change', () => {
  const all = named(8)

  beforeEach(() => {
    bad = new Set(all.slice(0, 1))
    publish({ hosts: all })
    answer()
    answer()
  })

  test('of others is sent before the groups, and does not join them', () => {
    publish({ hosts: [...all, 'r/new'] })
    answer()
    expect(answerAll().slice(0, 2)).toEqual(['r/new', all.slice(0, 2).join(' ')])
    expect(inForce).toEqual(without([...all, 'r/new']))
  })

  test('that fixes the bad one is sent with its group', () => {
    publish({ hosts: [...to('good', all.slice(0, 1)), ...all.slice(1)] })
    bad.clear()
    const [a, b, c, d, ...rest] = all
    expect(answerAll()).toEqual([rest.join(' '), `${a} ${b}`, `${c} ${d}`])
    expect(isAll).toBe(true)
  })

  test('that takes the bad one away lets the rest of its group go', () => {
    publish({ hosts: all.slice(1) })
    bad.clear()
    const [a, b, c, d, ...rest] = all
    expect(answerAll()).toEqual([rest.join(' '), `${b} -${a}`, `${c} ${d}`])
    expect(inForce).toEqual(new Set(all.slice(1)))
    expect(isAll).toBe(true)
  })
})

describe('removals', () => {
  const [old, fresh] = [named(50, 'old'), named(50, 'new')]

  beforeEach(() => {
    publish({ hosts: old })
    answer()
  })

  test('that are refused with a bad update go by themselves, at once', () => {
    bad = new Set(fresh.slice(7, 8))
    publish({ hosts: fresh })
    answer()
    expect(answer()).toBe(old.map((name) => `-${name}`).join(' '))
    expect(inForce).toEqual(new Set())
    expect(answerAll().length).toBeLessThanOrEqual(12)
    expect(inForce).toEqual(without(fresh))
  })

  test('one that is bad holds up no update and no other removal', () => {
    bad = new Set(old.slice(20, 21))
    publish({ hosts: fresh })
    expect(answerAll().length).toBeLessThanOrEqual(16)
    expect(inForce).toEqual(new Set([...fresh, ...bad]))
    expect(isAll).toBe(false)
    stream.push()
    expect(inbox).toEqual([])
  })

  test('one that is bad is tried again with the next change, which comes all the same', () => {
    bad = new Set(old.slice(20, 21))
    publish({ hosts: fresh })
    answerAll()
    const [name] = bad
    publish({ hosts: [...fresh, 'r/next'] })
    expect(answerAll()).toEqual([`r/next -${name}`, `-${name}`, 'r/next'])
    expect(inForce).toEqual(new Set([...fresh, ...bad, 'r/next']))
    bad.clear()
    publish({ hosts: [...fresh, 'r/next', 'r/last'] })
    expect(answerAll()).toEqual([`r/last -${name}`])
    expect(isAll).toBe(true)
  })
})

test('all good resources are delivered, and all of them once the bad ones are fixed', () => {
  const names = named(40)
  const some = fc.uniqueArray(fc.constantFrom(...names))
  fc.assert(
    fc.property(some, some, some, fc.nat(12), some, (before, after, refused, answers, later) => {
      start()
      publish({ hosts: before })
      answer()
      bad = new Set(refused)
      publish({ hosts: to('2', after) })
      const most = 3 + 2 * refused.length * Math.ceil(Math.log2(names.length))
      for (let count = 0; count < answers; count += 1) answer()
      expect(answerAll().length).toBeLessThanOrEqual(Math.max(0, most - answers))
      const good = after.filter((name) => !bad.has(name))
      expect(inForce).toEqual(new Set([...good, ...before.filter((name) => bad.has(name))]))
      bad.clear()
      publish({ hosts: [...to('3', later), 'r/last'] })
      answerAll()
      expect(inForce).toEqual(new Set([...later, 'r/last']))
      expect(isAll).toBe(true)
      stream.push()
      expect(inbox).toEqual([])
      stream.close()
    }),
    { numRuns: runs(300) },
  )
})

test('an Envoy that asks for the state of the world does not wait for removals, which it never gets', () => {
  const names = ['q', 'r', 's', 't']
  const ask = (typeUrl: string, responseNonce = '', isRefused = false) =>
    create(DiscoveryRequestSchema, {
      typeUrl,
      resourceNames: typeUrl === ROUTE_TYPE ? names : [],
      responseNonce,
      ...(isRefused && { errorDetail: { code: 13, message: 'bad' } }),
    })
  const take = (isRefused = false): string | undefined => {
    const push = inbox.shift()
    if (push === undefined) return undefined
    stream.handle(world.read(ask(push.typeUrl, push.nonce, isRefused)))
    return briefly(push)
  }
  stream = open('state-of-the-world')
  snapshot = nodeSnapshot({ routes: names })
  stream.handle(world.read(ask(LISTENER_TYPE)))
  expect(take()).toBe('')
  stream.handle(world.read(ask(ROUTE_TYPE)))
  expect(take()).toBe('q r s t')
  publish({ routes: ['q=2', 'r=bad', 's=2'] })
  expect([take(true), take(true), take(), take(), take(true), take()]).toEqual([
    'q r s',
    'q r',
    's',
    'q',
    'r',
    undefined,
  ])
  publish({ routes: ['q=2', 'r=bad'] })
  expect(take()).toBe(undefined)
  publish({ routes: ['q=bad'] })
  expect([take(true), take()]).toEqual(['q', undefined])
})
