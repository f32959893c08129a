// Resources that Envoy NACKed are sent again automatically, after growing pauses; the tests control the clock.

import { create } from '@bufbuild/protobuf'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  DeltaDiscoveryRequestSchema,
  DiscoveryRequestSchema,
} from '../../../src/wire/grpc/generated/envoy/service/discovery/v3/discovery_pb.js'
import { LISTENER_TYPE } from '../../../src/xds/encode/type-urls.js'
import { incremental, world } from '../../../src/xds/server/ads-server.js'
import { AdsStream } from '../../../src/xds/server/ads-stream.js'
import { SharedViews } from '../../../src/xds/server/shared-views.js'
import type { NodeSnapshot } from '../../../src/xds/server/snapshot-cache.js'
import type { Protocol, Push } from '../../../src/xds/server/type-stream.js'
import { nodeSnapshot } from './fake-envoy.js'

let snapshot: NodeSnapshot
/** Names of what Envoy refuses, as an update or as a removal. */
let bad: Set<string>
/** Names of each response with a bad one, and the second at which it came. */
let refused: string[]
let accepted: string[]
let isAll: boolean | undefined
let stream: AdsStream
/** Envoy's answers, in order: one may cause the next response. */
let answers: (() => void)[]

const namesOf = ({ resources, removed }: Push): readonly string[] => [
  ...resources.map(({ name }) => name),
  ...removed.map((name) => `-${name}`),
]

/** Envoy asks for listeners, and answers every response at once. */
function open(protocol: Protocol): void {
  const read = (responseNonce: string, isRefused: boolean) => {
    const request = {
      typeUrl: LISTENER_TYPE,
      responseNonce,
      ...(isRefused && { errorDetail: { code: 13, message: 'cannot bind' } }),
    }
    return protocol === 'incremental'
      ? incremental.read(create(DeltaDiscoveryRequestSchema, request))
      : world.read(create(DiscoveryRequestSchema, request))
  }
  stream = new AdsStream({
    views: new SharedViews(),
    protocol,
    waits: { patienceMs: 3_000, lingerMs: 0 },
    snapshot: () => snapshot,
    write: (push, sent) => {
      const names = namesOf(push)
      const isRefused = names.some((name) => bad.has(name.replace(/^-/, '')))
      const line = `${String(Math.round(performance.now() / 1_000))}: ${names.join(' ')}`
      ;(isRefused ? refused : accepted).push(line)
      sent()
      answers.push(() => stream.handle(read(push.nonce, isRefused)))
      if (answers.length === 1) for (; answers.length > 0; answers.shift()) answers[0]?.()
    },
    onAck: (_type, _version, all) => (isAll = all),
    onNack: () => undefined,
  })
  stream.handle(read('', false))
}

function publish(...listeners: string[]): void {
  snapshot = nodeSnapshot({ listeners })
  stream.push()
}

const pass = (seconds: number): void => void vi.advanceTimersByTime(seconds * 1_000 + 50)

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'], now: 0 })
  snapshot = nodeSnapshot({})
  ;[bad, refused, accepted, answers] = [new Set(), [], [], []]
})

afterEach(() => {
  stream.close()
  vi.useRealTimers()
})

describe.each<Protocol>(['incremental', 'state-of-the-world'])('%s', (protocol) => {
  beforeEach(() => {
    open(protocol)
    accepted = []
    isAll = undefined
  })

  test('what is refused is sent again after 1 s, then after twice as long each time, to 60 s', () => {
    bad = new Set(['a'])
    publish('a')
    pass(300)
    const at = refused.map((line) => Number.parseInt(line, 10))
    const pauses = at.slice(1).map((second, index) => second - (at[index] ?? 0))
    expect(pauses.slice(0, 9)).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60])
  })

  test('and is in force as soon as its cause is gone: nothing is refused any more, nothing is sent', () => {
    bad = new Set(['a'])
    publish('a')
    expect(isAll).not.toBe(true)
    bad.clear()
    pass(2)
    expect(accepted).toEqual(['1: a'])
    expect(isAll).toBe(true)
    expect(stream.isCurrent()).toBe(true)
    pass(600)
    expect([...refused, ...accepted]).toHaveLength(2)
  })

  test('not if it is no longer wanted', () => {
    bad = new Set(['a'])
    publish('a')
    bad.clear()
    publish()
    pass(600)
    expect([...refused, ...accepted].filter((line) => line.endsWith(': a'))).toHaveLength(1)
  })

  test('another version is sent at once, and its backoff starts over', () => {
    bad = new Set(['a'])
    publish('a')
    pass(16)
    const before = refused.length
    publish('a=2')
    expect(refused).toHaveLength(before + 1)
    pass(1)
    expect(refused).toHaveLength(before + 2)
  })

  test('a stream that is closed sends nothing more', () => {
    bad = new Set(['a'])
    publish('a')
    stream.close()
    pass(600)
    expect(refused).toHaveLength(1)
  })
})

describe('incremental', () => {
  beforeEach(() => {
    open('incremental')
    accepted = []
    isAll = undefined
  })

  test('each is sent again separately: a permanently bad one holds up no other', () => {
    bad = new Set(['a', 'b'])
    publish('a', 'b', 'c')
    bad.delete('b')
    pass(4)
    expect(accepted.map((line) => line.replace(/^.*: /, '')).sort()).toEqual(['b', 'c'])
    expect(isAll).toBe(false)
  })

  test('a removal that was refused is tried again too', () => {
    publish('a')
    bad = new Set(['a'])
    publish()
    bad.clear()
    pass(2)
    expect(accepted.at(-1)).toBe('1: -a')
    expect(isAll).toBe(true)
  })

  test('thousands that are refused are sent again a few at a time', () => {
    const all = Array.from({ length: 1_000 }, (_, index) => `l${String(index)}`)
    bad = new Set(all)
    publish(...all)
    refused = []
    pass(10)
    expect(refused.length).toBeGreaterThan(60)
    expect(refused.length).toBeLessThanOrEqual(88)
    bad.clear()
    pass(200)
    expect(new Set(accepted.map((line) => line.replace(/^.*: /, '')))).toEqual(new Set(all))
    expect(accepted).toHaveLength(1_000)
    expect(isAll).toBe(true)
  })
})
