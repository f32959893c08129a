// When a route that opens is noticed: the schedule of the probes, by a clock of the test.

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { ProbeTarget } from '../../../../src/addons/mesh/controller/probe-targets.js'
import { Prober } from '../../../../src/addons/mesh/controller/prober.js'

/** docs/mesh.md names this number, and this time. */
const TARGETS = 500
const NOTICED_WITHIN = 10_000

/** How long an answer takes. */
const ANSWER_MS = 50

beforeEach(() => void vi.useFakeTimers())

afterEach(() => vi.useRealTimers())

const targets = Array.from({ length: TARGETS }, (_, index): ProbeTarget => ({
  id: String(index),
  gateway: { namespace: 'shop', name: 'gw' },
  place: 'shop/gw 192.0.2.1 80',
  address: '192.0.2.1',
  port: 80,
  isTls: false,
  host: 'shop.example',
  path: `/${String(index)}`,
  method: 'GET',
  headers: {},
  keys: {},
}))

const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds))

test(`one open route of ${String(TARGETS)} is reported within 10 s, whenever it opens`, async () => {
  let open: string | undefined
  let isReported = false
  const report = (): void => {
    isReported ||= targets.some((target) => target.id === open && problemOf(target) !== undefined)
  }
  const prober = new Prober({
    now: () => performance.now(),
    wait: pause,
    onWarning: () => undefined,
    onChange: report,
    probe: async ({ id }) => {
      // The request reaches its route halfway.
      await pause(ANSWER_MS / 2)
      const isOpen = id === open
      await pause(ANSWER_MS / 2)
      return isOpen ? { type: 'unproven', problem: 'it is open' } : { type: 'proven' }
    },
  })
  const problemOf = (target: ProbeTarget): string | undefined => prober.problemOf(target)
  prober.setTargets(targets)
  await vi.advanceTimersByTimeAsync(20_000)
  const late: string[] = []
  for (let opening = 0; opening < 12; opening++) {
    // Each time another route, at another moment of the sweep.
    open = String((opening * 211) % TARGETS)
    isReported = false
    await vi.advanceTimersByTimeAsync(NOTICED_WITHIN)
    if (!isReported) late.push(`${open}, opened at ${String(performance.now())}`)
    await vi.advanceTimersByTimeAsync(290 * opening)
  }
  const closed = prober.close()
  await vi.advanceTimersByTimeAsync(1_000)
  await closed
  expect(late).toEqual([])
})

test('what was removed is probed no more, though the sweep goes on', async () => {
  const probed: string[] = []
  const prober = new Prober({
    now: () => performance.now(),
    wait: pause,
    onWarning: () => undefined,
    onChange: () => undefined,
    probe: async ({ id }) => {
      probed.push(id)
      await pause(ANSWER_MS)
      return { type: 'proven' }
    },
  })
  prober.setTargets(targets)
  await vi.advanceTimersByTimeAsync(1_000)
  // One of the same place, then the whole place.
  const [gone, ...kept] = targets.filter(({ id }) => !probed.includes(id))
  prober.setTargets(targets.filter((target) => target !== gone))
  await vi.advanceTimersByTimeAsync(1_000)
  prober.setTargets([])
  const before = probed.length
  await vi.advanceTimersByTimeAsync(60_000)
  expect(kept.length).toBeGreaterThan(100)
  expect(probed).not.toContain(gone?.id)
  expect(probed.slice(before)).toEqual([])
  await prober.close()
})
