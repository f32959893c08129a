// How often a status is retried that cannot be written, or that another writer overwrites.

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { resourceKey } from '../../../../src/control/schema/decode/resource-set.js'
import {
  type KubernetesClient,
  KubernetesError,
} from '../../../../src/control/sources/kubernetes/client.js'
import {
  createStatusWriter,
  type ObjectStatus,
} from '../../../../src/control/sources/kubernetes/status-writer.js'
import type { JsonObject } from '../../../../src/model/json.js'

const API_GROUP = 'policy.gatehouse.dev'
const MINUTE = 60_000

const said = (name: string, message = 'It is accepted.'): ObjectStatus => ({
  kind: 'ProxyBackend',
  namespace: 'default',
  name,
  conditions: [
    {
      type: 'Accepted',
      status: 'True',
      reason: 'Accepted',
      message,
      observedGeneration: 1,
    },
  ],
})

const keyOf = (name: string): string => resourceKey('ProxyBackend', 'default', name)

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

/** An API server that has these ProxyBackends, and what the watch has shown of them. */
function cluster(...names: readonly string[]) {
  let version = 1
  let mayWrite = true
  const refused = new Set<string>()
  const writes: string[] = []
  const looks: string[] = []
  const fresh = (name: string): JsonObject => ({
    metadata: { name, namespace: 'default', generation: 1, resourceVersion: '1' },
  })
  const stored = new Map(names.map((name) => [name, fresh(name)]))
  const shown = new Map(stored)
  const store = (name: string, status: JsonObject | undefined): JsonObject => {
    version += 1
    const metadata = { ...(fresh(name)['metadata'] as JsonObject), resourceVersion: `${version}` }
    const now: JsonObject = { metadata, ...(status && { status }) }
    stored.set(name, now)
    return now
  }
  const nameIn = (path: string): string => path.split('/').at(-2) ?? ''
  const call: KubernetesClient['call'] = (method, path, body) => {
    if (method === 'GET')
      return Promise.resolve({ resources: [{ name: 'proxybackends', kind: 'ProxyBackend' }] })
    const name = nameIn(path)
    writes.push(name)
    if (refused.has(name)) return Promise.reject(new KubernetesError('HTTP 403', 403))
    const { resourceVersion } = body?.['metadata'] as { resourceVersion: string }
    const { metadata } = stored.get(name) as { metadata: { resourceVersion: string } }
    if (resourceVersion !== metadata.resourceVersion)
      return Promise.reject(new KubernetesError('HTTP 409', 409))
    return Promise.resolve(store(name, body?.['status'] as JsonObject))
  }
  const nameOf = (key: string): string => names.find((name) => keyOf(name) === key) ?? ''
  const writer = createStatusWriter({
    client: { call } as KubernetesClient,
    apiGroup: API_GROUP,
    raw: (key) => {
      looks.push(nameOf(key))
      return shown.get(nameOf(key))
    },
    adopt: (key, basis, answer) => {
      if (shown.get(nameOf(key)) === basis) shown.set(nameOf(key), answer)
    },
    mayWrite: () => mayWrite,
    onWarning: () => undefined,
  })
  return {
    writer,
    refused,
    statusOf: (name: string) => stored.get(name)?.['status'],
    writesOf: (name: string) => writes.filter((each) => each === name).length,
    writes,
    /** Another replica writes, or this one again. */
    yields: (yields = true) => {
      mayWrite = !yields
    },
    /** Names of objects that were looked at. */
    looks,
    wipe: (name: string) => store(name, undefined),
    /** The watch brings it as it is, or as it was. */
    show: (name: string, object = stored.get(name)) => {
      if (object !== undefined) shown.set(name, object)
      writer.changed(keyOf(name))
    },
  }
}

test('one that is refused is tried again after pauses that grow, without holding up others', async () => {
  const { writer, refused, writesOf } = cluster('a', 'b')
  refused.add('a')
  writer.update([[said('a'), said('b')]])
  await vi.advanceTimersByTimeAsync(1_000)
  expect([writesOf('a'), writesOf('b')]).toEqual([2, 1])
  await vi.advanceTimersByTimeAsync(5 * MINUTE)
  expect(writesOf('a')).toBeGreaterThan(10)
  expect(writesOf('a')).toBeLessThan(20)
  refused.delete('a')
  await vi.advanceTimersByTimeAsync(31_000)
  const done = writesOf('a')
  await vi.advanceTimersByTimeAsync(5 * MINUTE)
  expect([writesOf('a'), writesOf('b')]).toEqual([done, 1])
  await writer.close()
})

test('one whose status differs again does not wait for the backoff', async () => {
  const { writer, refused, writesOf, statusOf } = cluster('a')
  refused.add('a')
  writer.update([[said('a')]])
  await vi.advanceTimersByTimeAsync(5 * MINUTE)
  refused.delete('a')
  const before = writesOf('a')
  writer.update([[said('a', 'It is accepted now.')]])
  await vi.advanceTimersByTimeAsync(0)
  expect(writesOf('a')).toBe(before + 1)
  expect(JSON.stringify(statusOf('a'))).toContain('It is accepted now.')
  await writer.close()
})

test('thousands that are refused are not tried again all at once', async () => {
  const names = Array.from({ length: 2_000 }, (_, index) => `refused-${String(index)}`)
  const { writer, refused, writes, writesOf } = cluster(...names, 'late')
  for (const name of names) refused.add(name)
  const all = names.map((name) => said(name))
  writer.update([all])
  await vi.advanceTimersByTimeAsync(100)
  expect(writes).toHaveLength(names.length)
  await vi.advanceTimersByTimeAsync(MINUTE)
  expect(writes.length - names.length).toBeLessThanOrEqual(4 * 2 * 60)
  writer.update([[...all, said('late')]])
  await vi.advanceTimersByTimeAsync(0)
  expect(writesOf('late')).toBe(1)
  refused.clear()
  await vi.advanceTimersByTimeAsync(31_000)
  const done = writes.length
  await vi.advanceTimersByTimeAsync(MINUTE)
  expect(writes).toHaveLength(done)
  await writer.close()
})

test('a status that was wiped is written again when the watch reports it', async () => {
  const { writer, statusOf, wipe, show, writesOf } = cluster('a')
  writer.update([[said('a')]])
  await vi.advanceTimersByTimeAsync(0)
  show('a')
  const ours = statusOf('a')
  wipe('a')
  show('a')
  await vi.advanceTimersByTimeAsync(1_000)
  expect(statusOf('a')).toMatchObject({ conditions: [{ message: 'It is accepted.' }] })
  expect(ours).toBeDefined()
  expect(writesOf('a')).toBe(2)
  await writer.close()
})

test('two that write over each other do so ever more rarely', async () => {
  const { writer, statusOf, wipe, show, writesOf } = cluster('a')
  writer.update([[said('a')]])
  for (let second = 0; second < 300; second += 1) {
    await vi.advanceTimersByTimeAsync(1_000)
    if (statusOf('a') === undefined) continue
    wipe('a')
    show('a')
  }
  expect(writesOf('a')).toBeGreaterThan(10)
  expect(writesOf('a')).toBeLessThan(20)
  // And begin anew after a calm while.
  await vi.advanceTimersByTimeAsync(MINUTE)
  wipe('a')
  show('a')
  await vi.advanceTimersByTimeAsync(1_000)
  expect(statusOf('a')).toBeDefined()
  await writer.close()
})

test('a watch that shows own writes late causes no other write', async () => {
  const { writer, statusOf, show, writesOf } = cluster('a')
  const objects: JsonObject[] = []
  for (const message of ['one', 'two', 'three']) {
    writer.update([[said('a', message)]])
    await vi.advanceTimersByTimeAsync(0)
    expect(JSON.stringify(statusOf('a'))).toContain(message)
    objects.push({
      metadata: {
        name: 'a',
        namespace: 'default',
        generation: 1,
        resourceVersion: String(objects.length + 2),
      },
      status: statusOf('a') as JsonObject,
    })
  }
  for (const object of objects) show('a', object)
  await vi.advanceTimersByTimeAsync(MINUTE)
  expect(writesOf('a')).toBe(3)
  await writer.close()
})

test('of a thousand, it compares those with a new status and objects that changed', async () => {
  const names = Array.from({ length: 1_000 }, (_, index) => `b-${String(index)}`)
  const { writer, looks, writesOf } = cluster(...names)
  const all = names.map((name) => said(name))
  writer.update([all])
  await vi.advanceTimersByTimeAsync(1_000)
  looks.length = 0
  writer.update([all.with(7, said('b-7', 'It is accepted now.'))])
  await vi.advanceTimersByTimeAsync(1_000)
  expect(new Set(looks)).toEqual(new Set(['b-7']))
  expect(writesOf('b-7')).toBe(2)
  looks.length = 0
  writer.touched(keyOf('b-8'))
  writer.update([all.with(7, said('b-7', 'It is accepted now.'))])
  await vi.advanceTimersByTimeAsync(1_000)
  expect(new Set(looks)).toEqual(new Set(['b-7', 'b-8']))
  await writer.close()
})

test('a thousand are compared in many turns, and losing the Lease stops the comparison', async () => {
  const names = Array.from({ length: 1_000 }, (_, index) => `b-${String(index)}`)
  const { writer, looks, writes, yields } = cluster(...names)
  writer.update([names.map((name) => said(name))])
  // Some are compared, and four writes have begun.
  expect(looks.length).toBeLessThanOrEqual(64 + 4)
  yields()
  await vi.advanceTimersByTimeAsync(1_000)
  expect(looks.length).toBeLessThanOrEqual(64 + 4)
  expect(writes.length).toBeLessThanOrEqual(4)
  yields(false)
  writer.refresh()
  await vi.advanceTimersByTimeAsync(1_000)
  expect(new Set(writes).size).toBe(1_000)
  await writer.close()
})
