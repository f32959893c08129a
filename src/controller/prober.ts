// Probes all targets again and again, and keeps the last result of each.

import { errorText } from '../errors.js'
import type { ProbeResult } from './probe.js'
import type { ProbeTarget } from './probe-targets.js'

/** What the prober needs. */
export interface ProberDeps {
  /** Never rejects. */
  readonly probe: (target: ProbeTarget, signal: AbortSignal) => Promise<ProbeResult>
  /** Called when all targets have been probed once more. */
  readonly onSweep: () => void
  /** Called soon after a result that differs from the one before. */
  readonly onChange: () => void
  readonly onWarning: (message: string) => void
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number
  /** Resolves after a pause in milliseconds, or when the signal aborts. */
  readonly wait: (milliseconds: number, signal: AbortSignal) => Promise<void>
}

/** Pause between two sweeps, in milliseconds. */
const EVERY_MS = 3_000
/** Shortest pause, after an event. */
const SPACE_MS = 500
/** Probes at once. */
const AT_ONCE = 8
/** How long a proof counts, in milliseconds. */
const LASTS_MS = 60_000
/** Longest time from one probe to the next, in milliseconds: with many targets, they are begun evenly. */
const SPACING_MS = 10
/** Longest time that the probes of a sweep are spread over, in milliseconds: each proof must be renewed in time. */
const SPREAD_MS = 45_000
/** Shortest time between two reports of changed results, in milliseconds. */
const REPORT_MS = 1_000

interface Known {
  readonly result: ProbeResult
  /** When the target last proved itself; absent: never. */
  readonly provenAt?: number
}

/** Probes all targets again and again. */
export class Prober {
  readonly #deps: ProberDeps
  readonly #ending = new AbortController()
  #targets: readonly ProbeTarget[] = []
  readonly #known = new Map<string, Known>()
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #endedAt = -SPACE_MS
  #reportedAt = -REPORT_MS
  /** Whether a result has changed since the last report. */
  #isUnreported = false
  /** Targets that wait for their probe in this sweep; the last one is next. */
  #waiting: ProbeTarget[] = []
  /** Targets that have been waiting in this sweep. */
  #queued = new Set<string>()

  constructor(deps: ProberDeps) {
    this.#deps = deps
  }

  /** Sets what is probed. Targets that were never probed are next, in a sweep that begins soon if none is in progress. */
  setTargets(targets: readonly ProbeTarget[]): void {
    this.#targets = targets
    if (this.#ending.signal.aborted) return
    if (this.#running !== undefined) {
      const added = targets.filter(({ id }) => !this.#known.has(id) && !this.#queued.has(id))
      for (const { id } of added) this.#queued.add(id)
      this.#waiting.push(...added)
      return
    }
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
    const { now, wait, onSweep } = this.#deps
    const { signal } = this.#ending
    this.#waiting = [...this.#targets]
    this.#queued = new Set(this.#targets.map(({ id }) => id))
    const spacing = Math.min(SPACING_MS, SPREAD_MS / this.#waiting.length)
    let due = now()
    const worker = async (): Promise<void> => {
      for (let next = this.#waiting.pop(); next !== undefined; next = this.#waiting.pop()) {
        const pause = due - now()
        due += spacing
        if (pause > 0) await wait(pause, signal)
        if (signal.aborted) return
        await this.#probe(next)
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, worker))
    if (signal.aborted) return
    const current = new Set(this.#targets.map(({ id }) => id))
    for (const id of this.#known.keys()) if (!current.has(id)) this.#known.delete(id)
    onSweep()
  }

  async #probe(target: ProbeTarget): Promise<void> {
    const { probe, now, onChange } = this.#deps
    const { signal } = this.#ending
    const at = now()
    const before = this.problemOf(target)
    const result = await probe(target, signal)
    if (signal.aborted) return
    const provenAt = result.type === 'proven' ? at : this.#known.get(target.id)?.provenAt
    this.#known.set(target.id, { result, ...(provenAt !== undefined && { provenAt }) })
    if (this.problemOf(target) !== before) this.#isUnreported = true
    if (!this.#isUnreported || now() < this.#reportedAt + REPORT_MS) return
    this.#isUnreported = false
    this.#reportedAt = now()
    onChange()
  }
}
