// Probes all targets again and again, and keeps the last result of each.

import { errorText } from '../errors.js'
import type { ProbeResult } from './probe.js'
import type { ProbeTarget } from './probe-targets.js'

export interface ProberDeps {
  /** Never rejects. */
  readonly probe: (target: ProbeTarget, signal: AbortSignal) => Promise<ProbeResult>
  /** Called when all targets have been probed once more. */
  readonly onSweep: () => void
  readonly onWarning: (message: string) => void
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number
}

/** Pause between two sweeps, in milliseconds. */
const EVERY_MS = 3_000
/** Shortest pause, after an event. */
const SPACE_MS = 500
/** Probes at once. */
const AT_ONCE = 8
/** How long a proof counts, in milliseconds. */
const LASTS_MS = 60_000

interface Known {
  readonly result: ProbeResult
  /** When the target last proved itself; absent: never. */
  readonly provenAt?: number
}

export class Prober {
  readonly #deps: ProberDeps
  readonly #ending = new AbortController()
  #targets: readonly ProbeTarget[] = []
  #known = new Map<string, Known>()
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #endedAt = -SPACE_MS

  constructor(deps: ProberDeps) {
    this.#deps = deps
  }

  /** Sets what is probed, and begins a sweep soon if none is in progress. Empty: nothing is probed any more. */
  setTargets(targets: readonly ProbeTarget[]): void {
    this.#targets = targets
    if (this.#running !== undefined || this.#ending.signal.aborted) return
    clearTimeout(this.#timer)
    const pause = Math.max(0, this.#endedAt + SPACE_MS - this.#deps.now())
    if (targets.length > 0) this.#timer = setTimeout(() => this.#begin(), pause)
  }

  /** Returns why a target does not count as protected; undefined: it proved itself within the last minute. */
  problemOf({ id }: ProbeTarget): string | undefined {
    const known = this.#known.get(id)
    if (known === undefined) return 'the first probe has not been answered yet'
    const { result, provenAt } = known
    if (result.type === 'proven') return this.#isRecent(provenAt) ? undefined : 'no recent probe'
    return result.type === 'silent' && this.#isRecent(provenAt) ? undefined : result.problem
  }

  #isRecent(provenAt: number | undefined): boolean {
    return provenAt !== undefined && this.#deps.now() - provenAt <= LASTS_MS
  }

  async close(): Promise<void> {
    this.#ending.abort()
    clearTimeout(this.#timer)
    await this.#running
  }

  #begin(): void {
    this.#running = this.#sweep()
      .catch((error: unknown) =>
        this.#deps.onWarning(`routes of the mesh cannot be probed: ${errorText(error)}`),
      )
      .finally(() => {
        this.#running = undefined
        this.#endedAt = this.#deps.now()
        if (this.#ending.signal.aborted || this.#targets.length === 0) return
        this.#timer = setTimeout(() => this.#begin(), EVERY_MS)
      })
  }

  async #sweep(): Promise<void> {
    const { probe, now, onSweep } = this.#deps
    const { signal } = this.#ending
    const targets = this.#targets
    const known = new Map<string, Known>()
    const waiting = [...targets]
    const worker = async (): Promise<void> => {
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        if (signal.aborted) return
        const at = now()
        const result = await probe(next, signal)
        const provenAt = result.type === 'proven' ? at : this.#known.get(next.id)?.provenAt
        known.set(next.id, { result, ...(provenAt !== undefined && { provenAt }) })
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, worker))
    if (signal.aborted) return
    this.#known = known
    onSweep()
  }
}
