// Events about policies that the mesh no longer enforces, also when another replica has reported before.

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Enforcement } from '../../../../src/addons/mesh/controller/enforcement.js'
import { createEnforcementEvents } from '../../../../src/addons/mesh/controller/enforcement-events.js'
import type { KubernetesClient } from '../../../../src/control/sources/kubernetes/client.js'
import type { JsonObject } from '../../../../src/model/json.js'
import type { Settings } from '../../../../src/ops/settings/settings.js'

const SETTLED_MS = 3_000

beforeEach(() => void vi.useFakeTimers())

afterEach(() => vi.useRealTimers())

const policy = { namespace: 'default', name: 'app' }
const open: Enforcement = { policy, isEnforced: false, reason: 'NotProven', message: 'it is open' }
const pending: Enforcement = { ...open, message: 'no probe yet', isPending: true }
const proven: Enforcement = { policy, isEnforced: true, reason: 'Enforced', message: '' }

type Step =
  | Enforcement
  /** The Lease is lost, and comes back at the next state. */
  | 'lost'
  /** What the API server has from now on. */
  | { readonly status: 'True' | 'False'; readonly since?: string }

/** Tells of states, one after the other, and returns the reasons of the Events. settled: how long each state lasts. */
async function eventsOf(steps: readonly Step[], settled = SETTLED_MS + 1) {
  const notes: unknown[] = []
  let conditions: readonly object[] = []
  const events = createEnforcementEvents(
    { apiGroup: 'policy.gatehouse.dev', environment: {} } as unknown as Settings,
    {
      client: {
        call: (_method: string, _path: string, body: { readonly note?: unknown }) => {
          notes.push(body.note)
          return Promise.resolve({})
        },
      } as unknown as KubernetesClient,
      source: { raw: () => ({ status: { ancestors: [{ conditions }] } }) as unknown as JsonObject },
      onWarning: () => undefined,
    },
  )
  let before: ReadonlyMap<string, Enforcement> = new Map()
  for (const step of steps) {
    if (step === 'lost') {
      events.forget()
      before = new Map()
    } else if ('status' in step) {
      const lastTransitionTime = step.since ?? '2026-01-01T00:00:00Z'
      conditions = [{ type: 'Enforced', status: step.status, lastTransitionTime }]
    } else {
      const now = new Map([['default/app', step]])
      events.compare(now, before)
      before = now
      await vi.advanceTimersByTimeAsync(settled)
    }
  }
  await vi.advanceTimersByTimeAsync(SETTLED_MS + 1)
  return notes
}

test('a policy that is not enforced any more gets one Event', async () => {
  expect(await eventsOf([proven, open, { ...open, message: 'still open' }])).toEqual(['it is open'])
  expect(await eventsOf([proven, open, proven, open])).toEqual(['it is open', 'it is open'])
})

test('a new leader that finds a route open writes an Event, if the status says that it was enforced', async () => {
  expect(await eventsOf([{ status: 'True' }, open])).toEqual(['it is open'])
  expect(await eventsOf([{ status: 'True' }, pending, open])).toEqual(['it is open'])
  expect(await eventsOf([{ status: 'False' }, open])).toEqual([])
  expect(await eventsOf([open])).toEqual([])
})

test('a first probe that has no answer yet is no reason for an Event', async () => {
  expect(await eventsOf([{ status: 'True' }, pending, pending, proven])).toEqual([])
  expect(await eventsOf([proven, pending, proven])).toEqual([])
})

test('a leader that comes back writes no second Event', async () => {
  // Another one has reported meanwhile.
  expect(await eventsOf([proven, 'lost', { status: 'False' }, open])).toEqual([])
  // Its own status was not written in time.
  expect(await eventsOf([{ status: 'True' }, proven, open, 'lost', open])).toEqual(['it is open'])
})

test('a leader that comes back reports what was enforced in between', async () => {
  const later = { status: 'True', since: '2100-01-01T00:00:00Z' } as const
  expect(await eventsOf([proven, open, 'lost', later, open])).toEqual(['it is open', 'it is open'])
})

test('a leader that has lost the Lease leaves the Event to the next one', async () => {
  expect(await eventsOf([proven, open, 'lost'], SETTLED_MS - 1)).toEqual([])
})
