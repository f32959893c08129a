// How long an answer of a worker may take: as long as its parts keep coming, but not for ever.

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { ToWorker } from '../../../src/control/workers/messages.js'
import { WorkerMetrics } from '../../../src/control/workers/worker-pool.js'
import { fakeClock } from '../../support/fake-clock.js'

let restore: () => void
beforeEach(() => {
  restore = fakeClock()
})
afterEach(() => restore())

/** A worker whose parts the test sends, and a read of its metrics. */
function slowWorker() {
  const asked: ToWorker[] = []
  const all = new WorkerMetrics([
    { number: 1, isReady: true, post: (message) => void asked.push(message) },
  ])
  const seen: { count?: number } = {}
  const read = async (): Promise<void> => {
    seen.count = (await all.collect()).length
  }
  const tell = (part: number, isLast: boolean): void => {
    const values = [{ value: part, labels: {} }]
    const metric = { name: 'a', help: 'b', type: 'counter', aggregator: 'sum', values }
    all.receive(1, { call: 1, part, metrics: [metric], isLast })
  }
  return { asked, seen, read, tell }
}

test('a slow answer is waited for while its parts come', async () => {
  const { asked, seen, read, tell } = slowWorker()
  const reading = read()
  for (let part = 0; part < 4; part += 1) {
    await vi.advanceTimersByTimeAsync(900)
    expect([asked.length, seen.count]).toEqual([part + 1, undefined])
    tell(part, part === 3)
  }
  await reading
  expect(seen.count).toBe(1)
})

test('a worker that is silent after a part is waited for a second', async () => {
  const { seen, read, tell } = slowWorker()
  const reading = read()
  await vi.advanceTimersByTimeAsync(900)
  tell(0, false)
  await vi.advanceTimersByTimeAsync(999)
  expect(seen.count).toBeUndefined()
  await vi.advanceTimersByTimeAsync(1)
  await reading
  expect(seen.count).toBe(0)
})

test('an answer without an end is waited for five seconds', async () => {
  const { seen, read, tell } = slowWorker()
  const reading = read()
  for (let part = 0; part < 10; part += 1) {
    expect(seen.count).toBeUndefined()
    await vi.advanceTimersByTimeAsync(500)
    tell(part, false)
  }
  await reading
  expect(seen.count).toBe(0)
})
