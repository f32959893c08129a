// Events about policies that the mesh no longer enforces, also when another replica has reported before.

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createEnforcementEvents } from '../../../src/app/cluster/enforcement-events.js'
import type { Enforcement } from '../../../src/controller/enforcement.js'
import type { KubernetesClient } from '../../../src/resources/kubernetes/client.js'
import type { Settings } from '../../../src/settings.js'

const SETTLED_MS = 3_000

beforeEach(() => void vi.useFakeTimers())

afterEach(() => vi.useRealTimers())

const policy = { namespace: 'default', name: 'app' }
const open: Enforcement = { policy, isEnforced: false, reason: 'NotProven', message: 'it is open' }
const pending: Enforcement = { ...open, message: 'no probe yet', isPending: true }
const proven: Enforcement = { policy, isEnforced: true, reason: 'Enforced', message: '' }

/** Tells of states, one after the other, and returns the reasons of the Events. status: as the API server has it. */
async function eventsOf(states: readonly Enforcement[], status?: 'True' | 'False') {
  const notes: unknown[] = []
  const conditions = status === undefined ? [] : [{ type: 'Enforced', status }]
  const tell = createEnforcementEvents(
    { apiGroup: 'policy.gatehouse.dev', environment: {} } as unknown as Settings,
    {
      client: {
        call: (_method: string, _path: string, body: { readonly note?: unknown }) => {
          notes.push(body.note)
          return Promise.resolve({})
        },
      } as unknown as KubernetesClient,
      source: { raw: () => ({ status: { ancestors: [{ conditions }] } }) },
      onWarning: () => undefined,
    },
  )
  let before: ReadonlyMap<string, Enforcement> = new Map()
  for (const state of states) {
    const now = new Map([['default/app', state]])
    tell(now, before)
    before = now
    await vi.advanceTimersByTimeAsync(SETTLED_MS + 1)
  }
  return notes
}

test('a policy that is not enforced any more gets one Event', async () => {
  expect(await eventsOf([proven, open, { ...open, message: 'still open' }])).toEqual(['it is open'])
  expect(await eventsOf([proven, open, proven, open])).toEqual(['it is open', 'it is open'])
})

test('a new leader that finds a route open writes an Event, if the status says that it was enforced', async () => {
  expect(await eventsOf([open], 'True')).toEqual(['it is open'])
  expect(await eventsOf([pending, open], 'True')).toEqual(['it is open'])
  expect(await eventsOf([open], 'False')).toEqual([])
  expect(await eventsOf([open])).toEqual([])
})

test('a first probe that has no answer yet is no reason for an Event', async () => {
  expect(await eventsOf([pending, pending, proven], 'True')).toEqual([])
  expect(await eventsOf([proven, pending, proven])).toEqual([])
})
