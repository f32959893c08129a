// The Lease while calls hang: no replica acts as its holder once another may have acquired it.

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { KubernetesClient } from '../../../../src/control/sources/kubernetes/client.js'
import { startLease } from '../../../../src/control/sources/kubernetes/lease.js'
import type { JsonObject } from '../../../../src/model/json.js'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

/** An API server that has the Lease alone; hangs: it answers no more. */
function server() {
  let stored: JsonObject = { metadata: {}, spec: {} }
  let hangs = false
  const call: KubernetesClient['call'] = (_method, _path, body) => {
    if (hangs) return new Promise(() => undefined)
    stored = body ?? stored
    return Promise.resolve(stored)
  }
  return {
    client: { call } as KubernetesClient,
    hang: () => (hangs = true),
  }
}

test('is held no longer when it could not be renewed for ten seconds, though the call still waits', async () => {
  const { client, hang } = server()
  const changes: boolean[] = []
  startLease({
    client,
    namespace: 'default',
    name: 'gatehouse',
    identity: 'one',
    onChange: (held) => changes.push(held),
    onWarning: () => undefined,
  })
  await vi.advanceTimersByTimeAsync(30_000)
  expect(changes).toEqual([true])
  hang()
  await vi.advanceTimersByTimeAsync(10_000)
  expect(changes).toEqual([true, false])
})
