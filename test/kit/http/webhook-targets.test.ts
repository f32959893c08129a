// Webhooks whose endpoints or TLS change while calls wait or are under way: where each call goes, and how many connections
// there are.

import { afterEach, beforeEach, expect, test } from 'vitest'
import type { PooledCall } from '../../../src/kit/http/webhook-call.js'
import { createLine } from '../../../src/kit/http/webhook-line.js'
import type { WebhookPools } from '../../../src/kit/http/webhook-pools.js'
import { eventually } from '../../../testing/eventually.js'
import { plainPools } from '../../extproc/support/guards.js'
import { callTo, NOWHERE, startWebhook, type Webhook } from './support/webhook.js'

let pools: WebhookPools
let old: Webhook
let moved: Webhook

beforeEach(async () => {
  old = await startWebhook()
  moved = await startWebhook()
  pools = plainPools()
})
afterEach(async () => {
  await pools.close()
  await eventually(() => expect(old.sockets.size + moved.sockets.size).toBe(0))
  for (const { server } of [old, moved]) server.close()
})

const call = (changes: Partial<PooledCall> = {}): PooledCall => callTo(old.target, changes)

const toMoved = (changes: Partial<PooledCall> = {}): PooledCall => callTo(moved.target, changes)

const arrived = (count: number, at = old) =>
  eventually(() => expect(at.waiting).toHaveLength(count))

/** Has one call answered. */
async function served(at: Webhook): Promise<void> {
  const count = at.waiting.length
  const only = pools.call(callTo(at.target))
  await arrived(count + 1, at)
  at.waiting.at(-1)?.end('x')
  expect((await only).ok).toBe(true)
}

/** Begins a call to each. The result ends both. */
async function startBoth(): Promise<() => Promise<void>> {
  const under = [pools.call(call()), pools.call(toMoved())]
  await arrived(1)
  await arrived(1, moved)
  return async () => {
    for (const { waiting } of [old, moved]) waiting[0]?.end()
    expect((await Promise.all(under)).map(({ ok }) => ok)).toEqual([true, true])
  }
}

test('who waits when the endpoints change is called where the webhook is then', async () => {
  const first = pools.call(call({ maxConnections: 1 }))
  await arrived(1)
  const second = pools.call(call({ maxConnections: 1 }))
  const third = pools.call(call({ maxConnections: 1, target: NOWHERE }))
  old.waiting[0]?.end()
  expect((await first).ok).toBe(true)
  expect(await second).toEqual({ ok: false, error: { type: 'no-endpoints' } })
  expect(await third).toEqual({ ok: false, error: { type: 'no-endpoints' } })
})

test('who waits when TLS changes is called as its own policy says, whatever is called meanwhile', async () => {
  const first = pools.call(call({ maxConnections: 1 }))
  await arrived(1)
  const second = pools.call(call({ maxConnections: 1 }))
  const tls = { hostname: 'guard.example', authorities: 'System', subjectAltNames: [] } as const
  const third = pools.call(call({ maxConnections: 1, target: { ...NOWHERE, tls } }))
  // A stream that began before the change calls with what it began with.
  const fourth = pools.call(call({ maxConnections: 1 }))
  for (const at of [0, 1, 2]) {
    await arrived(at + 1)
    old.waiting[at]?.end()
  }
  expect(await third).toEqual({ ok: false, error: { type: 'no-endpoints' } })
  const answers = await Promise.all([first, second, fourth])
  expect(answers.map(({ ok }) => ok)).toEqual([true, true, true])
})

test('old and new targets share the limit, and idle connections of one make room for the other', async () => {
  const before = [1, 2, 3].map(() => pools.call(call({ maxConnections: 3 })))
  await arrived(3)
  for (const response of old.waiting.slice(1)) response.end()
  await Promise.race(before.slice(1))
  const after = [1, 2, 3].map(() => pools.call(toMoved({ maxConnections: 3 })))
  await eventually(() => expect([old.sockets.size, moved.waiting.length]).toEqual([1, 2]))
  old.waiting[0]?.end()
  await arrived(3, moved)
  for (const response of moved.waiting) response.end()
  expect((await Promise.all([...before, ...after])).every(({ ok }) => ok)).toBe(true)
  await eventually(() => expect([old.sockets.size, moved.made()]).toEqual([0, 3]))
})

test('while both targets have calls, each uses its own idle connections again', async () => {
  const endBoth = await startBoth()
  for (let turn = 0; turn < 3; turn += 1) {
    await served(old)
    await served(moved)
  }
  expect([old.made(), moved.made()]).toEqual([2, 2])
  await endBoth()
})

test('idle connections to all targets are closed when other workers wait for permits', async () => {
  let trim: (most: number) => Promise<void> = () => Promise.resolve()
  await pools.close()
  pools = plainPools(undefined, {
    open: (_key, max, connections) => {
      trim = (most) => connections.trim(most)
      return createLine(max)
    },
  })
  const endBoth = await startBoth()
  await served(old)
  await served(moved)
  expect([old.sockets.size, moved.sockets.size]).toEqual([2, 2])
  await trim(3)
  await eventually(() => expect(old.sockets.size + moved.sockets.size).toBe(3))
  await trim(1)
  await eventually(() => expect([old.sockets.size, moved.sockets.size]).toEqual([1, 1]))
  await endBoth()
})

test('a target without a call keeps no connection once another one is called', async () => {
  await served(old)
  await served(moved)
  await eventually(() => expect([old.sockets.size, moved.sockets.size]).toEqual([0, 1]))
})

test('the end ends calls that wait for another target, and opens nothing for them', async () => {
  const first = pools.call(call({ maxConnections: 1 }))
  await arrived(1)
  const second = pools.call(toMoved({ maxConnections: 1 }))
  await pools.close()
  expect([(await first).ok, (await second).ok, moved.made()]).toEqual([false, false, 0])
})

test('other endpoints: new calls go there, those under way end where they began', async () => {
  const first = pools.call(call())
  await arrived(1)
  expect(await pools.call(call({ target: NOWHERE }))).toEqual({
    ok: false,
    error: { type: 'no-endpoints' },
  })
  old.waiting[0]?.end('still here')
  expect((await first).ok).toBe(true)
})
