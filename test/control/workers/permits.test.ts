// How many webhook connections each worker may have: never more than the limit in total, and no worker waits for ever.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { PermitsToMain, PermitsToWorker } from '../../../src/control/workers/messages.js'
import { PermitLines } from '../../../src/control/workers/permit-lines.js'
import { Permits } from '../../../src/control/workers/permits.js'
import { runs } from '../../support/runs.js'

const MAX = 3

/** Waits for the turns between the end of a call and the end of its connection's use. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate)
}

/** Workers and the main process, whose messages come when they are delivered. */
class Together {
  readonly #queue: (() => void)[] = []
  readonly #running = new Map<number, (() => void)[]>()
  readonly #lines: PermitLines[]
  readonly #own: ReturnType<PermitLines['open']>[]
  readonly #permits: Permits
  answered = 0
  now = 0

  constructor(workers: number, max = MAX) {
    this.#permits = new Permits((worker, message: PermitsToWorker) => {
      this.#queue.push(() => this.#lines[worker - 1]?.receive(message))
    })
    this.#lines = Array.from({ length: workers }, (_, index) => {
      const post = (message: PermitsToMain): void =>
        void this.#queue.push(() => this.#permits.receive(index + 1, message))
      return new PermitLines(workers, post, () => this.now)
    })
    const trim = (): Promise<void> => Promise.resolve()
    this.#own = this.#lines.map((lines) => lines.open('hook', max, { trim }))
  }

  get running(): number {
    return [...this.#running.values()].reduce((sum, calls) => sum + calls.length, 0)
  }

  call(worker: number): void {
    const line = this.#own[worker]
    const calls = this.#running.get(worker) ?? []
    this.#running.set(worker, calls)
    line?.enter('request', () => {
      calls.push(() => line.leave())
    })
  }

  /** The oldest call of a worker ends. */
  async end(worker: number): Promise<void> {
    const end = this.#running.get(worker)?.shift()
    if (end === undefined) return
    this.answered += 1
    end()
    await turns()
  }

  async deliver(): Promise<void> {
    this.#queue.shift()?.()
    await new Promise(setImmediate)
  }

  async settle(): Promise<void> {
    for (let quiet = 0; quiet < 3; quiet += 1) {
      if (this.#queue.length > 0) quiet = 0
      await this.deliver()
    }
  }
}

describe('permits', () => {
  test('the first of each worker gets one, up to the limit', async () => {
    const together = new Together(4)
    for (const worker of [0, 1, 2, 3]) together.call(worker)
    await together.settle()
    expect(together.running).toBe(MAX)
  })

  test('an idle one is given back to who waits', async () => {
    const together = new Together(2, 1)
    together.call(0)
    await together.settle()
    await together.end(0)
    together.call(1)
    await together.settle()
    expect([together.running, together.answered]).toEqual([1, 1])
  })

  test('who always has calls that wait keeps the only one for a turn', async () => {
    const together = new Together(2, 1)
    for (let time = 0; time < 5; time += 1) together.call(0)
    await together.settle()
    together.call(1)
    await together.settle()
    await together.end(0)
    await together.settle()
    await together.end(1)
    expect(together.answered).toBe(1)
    together.now = 50
    await together.end(0)
    await together.settle()
    await together.end(1)
    expect(together.answered).toBe(3)
  })

  test('any sequence of calls and ends: never more than the limit, and all are answered', async () => {
    const step = fc.record({
      act: fc.constantFrom('call', 'call', 'end', 'deliver' as const),
      worker: fc.nat({ max: 3 }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const together = new Together(4)
        let calls = 0
        for (const { act, worker } of steps) {
          if (act === 'call') {
            together.call(worker)
            calls += 1
          } else if (act === 'end') await together.end(worker)
          else await together.deliver()
          expect(together.running).toBeLessThanOrEqual(MAX)
        }
        for (let rounds = 0; together.answered < calls && rounds < 4 * calls + 10; rounds += 1) {
          await together.settle()
          expect(together.running).toBeLessThanOrEqual(MAX)
          for (const worker of [0, 1, 2, 3]) await together.end(worker)
        }
        expect(together.answered).toBe(calls)
      }),
      { numRuns: runs(100) },
    )
  })
})
