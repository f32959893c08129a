// An answer becomes overdue between two readings of the clock: whatever waits for it must still be sent.

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { CLUSTER_TYPE, LISTENER_TYPE } from '../../../src/xds/encode/type-urls.js'
import { AdsStream, type StreamRequest } from '../../../src/xds/server/ads-stream.js'
import { SharedViews } from '../../../src/xds/server/shared-views.js'
import type { Push } from '../../../src/xds/server/type-stream.js'
import { nodeSnapshot } from './fake-envoy.js'

const PATIENCE_MS = 1_000

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

const ask = (typeUrl: string, nonce = ''): StreamRequest => ({
  typeUrl,
  nonce,
  subscribe: (type, first) => {
    type.subscription.change([], [])
    if (first) type.owed = true
  },
})

test('the patience that ends during a look is seen at the next', () => {
  let snapshot = nodeSnapshot({ clusters: ['c'], listeners: ['l'] })
  const pushes: Push[] = []
  const stream = new AdsStream({
    views: new SharedViews(),
    protocol: 'incremental',
    waits: { patienceMs: PATIENCE_MS, lingerMs: 0 },
    snapshot: () => snapshot,
    write: (push, sent) => {
      pushes.push(push)
      sent()
    },
    onAck: () => undefined,
    onNack: () => undefined,
  })
  const answerLast = (typeUrl: string) => stream.handle(ask(typeUrl, pushes.at(-1)?.nonce))
  stream.handle(ask(CLUSTER_TYPE))
  answerLast(CLUSTER_TYPE)
  stream.handle(ask(LISTENER_TYPE))
  answerLast(LISTENER_TYPE)
  pushes.length = 0

  snapshot = nodeSnapshot({ clusters: ['c=2'], listeners: ['l=2'] })
  stream.push()
  const types = (): string[] => pushes.map(({ typeUrl }) => typeUrl)
  expect(types()).toEqual([CLUSTER_TYPE])
  // The timer that is set already does not count here: Envoy makes us look just before it ends.
  vi.clearAllTimers()
  vi.advanceTimersByTime(PATIENCE_MS - 1)
  const clock = performance.now()
  let looks = 0
  const spy = vi.spyOn(performance, 'now').mockImplementation(() => clock + (looks++ === 0 ? 0 : 2))
  stream.push()
  expect(types()).toEqual([CLUSTER_TYPE])
  spy.mockRestore()
  vi.advanceTimersByTime(PATIENCE_MS)
  expect(types()).toEqual([CLUSTER_TYPE, LISTENER_TYPE])
  stream.close()
})
