// Probes some targets at one address of a Gateway again and again. Lanes share nothing but the time that their probes are
// spread over, so nobody's silence delays the probes of others.

import type { ProbeTarget } from './probe-targets.js'

/** What a lane needs. */
export interface LaneDeps {
  /** Probes a target, and returns whether there was any answer. Never rejects. */
  readonly probe: (target: ProbeTarget) => Promise<boolean>
  /** Returns the targets that are to be probed now, the first one first. */
  readonly targets: () => readonly ProbeTarget[]
  /** Whether there are no targets. */
  readonly isEmpty: () => boolean
  /** Whether a target is still to be probed: a sweep may outlast it. */
  readonly has: (target: ProbeTarget) => boolean
  /** Whether the address counts as silent when several probes in succession have no answer. */
  readonly mayBeSilent: () => boolean
  /** Returns the shortest time from one sweep to the next in milliseconds, over which its probes are spread. */
  readonly sweepMs: () => number
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number
  readonly wait: (milliseconds: number, signal: AbortSignal) => Promise<void>
  readonly onError: (error: unknown) => void
  readonly signal: AbortSignal
}

/** Pause between two sweeps, in milliseconds. */
const EVERY_MS = 3_000
/** Longest pause while an address is silent, in milliseconds: one that answers again must be noticed within a minute. */
const LONGEST_MS = 12_000
/** Shortest pause, after an event. */
const SPACE_MS = 500
/** Probes of a lane at once; a silent address gets one. */
const AT_ONCE = 8

/** Probes some targets at one address again and again. */
export class ProbeLane {
  readonly #deps: LaneDeps
  /** Targets that wait for their probe in this sweep; the last one is next. */
  #waiting: ProbeTarget[] = []
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #startedAt = -Infinity
  #endedAt = -SPACE_MS
  #pause = EVERY_MS
  #isSilent = false
  /** Probes in succession without any answer. */
  #unanswered = 0

  constructor(deps: LaneDeps) {
    this.#deps = deps
  }

  /** Probes targets next, in a sweep that begins soon if none is in progress. */
  add(targets: readonly ProbeTarget[]): void {
    if (targets.length === 0) return
    if (this.#running === undefined)
      this.#schedule(Math.max(0, this.#endedAt + SPACE_MS - this.#deps.now()))
    else this.#waiting.push(...targets)
  }

  /** Begins the next sweep as soon as its probes may be sent: the mesh may have changed. */
  hurry(): void {
    if (this.#timer === undefined || this.#isSilent) return
    const soonest = Math.max(this.#endedAt + SPACE_MS, this.#startedAt + this.#deps.sweepMs())
    this.#schedule(Math.max(0, soonest - this.#deps.now()))
  }

  /** Begins a sweep after the usual pause, unless one is in progress or about to begin: there are targets again. */
  wake(): void {
    if (this.#running === undefined && this.#timer === undefined) this.#schedule(EVERY_MS)
  }

  /** Ends. The signal has aborted. */
  async close(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#running
  }

  #schedule(pause: number): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#deps.signal.aborted || this.#deps.isEmpty()) return
    this.#timer = setTimeout(() => this.#begin(), pause)
  }

  #begin(): void {
    const { now, onError, sweepMs } = this.#deps
    this.#startedAt = now()
    this.#timer = undefined
    this.#running = this.#sweep()
      .catch(onError)
      .finally(() => {
        this.#running = undefined
        this.#endedAt = now()
        this.#schedule(Math.max(this.#pause, this.#startedAt + sweepMs() - now()))
      })
  }

  async #sweep(): Promise<void> {
    const { now, wait, signal, targets, sweepMs, probe } = this.#deps
    this.#waiting = [...targets()].reverse()
    this.#unanswered = 0
    const spacing = sweepMs() / Math.max(1, this.#waiting.length)
    let due = now()
    let hasAnswer = false
    const worker = async (most = Infinity): Promise<void> => {
      for (let done = 0; done < most; done++) {
        const next = this.#next()
        if (next === undefined) return
        if (!this.#deps.has(next)) continue
        const pause = due - now()
        due += spacing
        if (pause > 0) await wait(pause, signal)
        if (signal.aborted) return
        if (!this.#deps.has(next)) continue
        const isAnswered = await probe(next)
        hasAnswer ||= isAnswered
        this.#unanswered = isAnswered ? 0 : this.#unanswered + 1
      }
    }
    if (this.#isSilent) await worker(1)
    if (!this.#isSilent || hasAnswer)
      await Promise.all(Array.from({ length: AT_ONCE }, () => worker()))
    this.#isSilent = !hasAnswer && this.#deps.mayBeSilent()
    this.#pause = this.#isSilent ? Math.min(this.#pause * 2, LONGEST_MS) : EVERY_MS
  }

  #next(): ProbeTarget | undefined {
    // The others wait for the next sweep, which begins with other targets.
    if (this.#unanswered >= AT_ONCE && this.#deps.mayBeSilent()) this.#waiting = []
    return this.#waiting.pop()
  }
}
