// Probes all targets again and again, and keeps the last result of each.

import { errorText } from '../errors.js'
import type { ProbeResult } from './probe.js'
import { ProbePlace } from './probe-place.js'
import type { ProbeTarget } from './probe-targets.js'

/** What the prober needs. */
export interface ProberDeps {
  /** Never rejects. */
  readonly probe: (target: ProbeTarget, signal: AbortSignal) => Promise<ProbeResult>
  /** Called soon after a result that differs from the one before, and when a proof has become too old. */
  readonly onChange: () => void
  readonly onWarning: (message: string) => void
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number
  /** Resolves after a pause in milliseconds, or when the signal aborts. */
  readonly wait: (milliseconds: number, signal: AbortSignal) => Promise<void>
}

/** How long a proof counts, in milliseconds. */
const LASTS_MS = 60_000
/** Longest time from one probe to the next, in milliseconds: with many targets, they are begun evenly. */
const SPACING_MS = 10
/** Longest time that the probes of a sweep are spread over, in milliseconds: each proof must be renewed in time. */
const SPREAD_MS = 45_000
/** Shortest time between two reports of changed results, in milliseconds. */
const REPORT_MS = 1_000

/** The problem of a target whose first probe is on its way. */
export const NOT_PROBED_YET = 'the first probe has not been answered yet'

interface Known {
  readonly result: ProbeResult
  /** When the target last proved itself; absent: never. */
  readonly provenAt?: number
}

/** Probes all targets again and again. */
export class Prober {
  readonly #deps: ProberDeps
  readonly #ending = new AbortController()
  readonly #places = new Map<string, ProbePlace>()
  #count = 0
  readonly #known = new Map<string, Known>()
  /** The end of each proof; the one that ends first is the first. */
  readonly #ends = new Map<string, number>()
  #ticker: NodeJS.Timeout | undefined
  #reportedAt = -REPORT_MS
  /** Whether a result has changed since the last report. */
  #isUnreported = false

  constructor(deps: ProberDeps) {
    this.#deps = deps
  }

  /** Sets what is probed. Targets that were never probed are next. */
  setTargets(targets: readonly ProbeTarget[]): void {
    if (this.#ending.signal.aborted) return
    this.#count = targets.length
    const byPlace = new Map<string, ProbeTarget[]>([...this.#places.keys()].map((key) => [key, []]))
    for (const target of targets) {
      const all = byPlace.get(target.place)
      if (all === undefined) byPlace.set(target.place, [target])
      else all.push(target)
    }
    for (const [key, all] of byPlace) {
      const place = this.#places.get(key) ?? this.#newPlace()
      place.setTargets(all)
      if (all.length > 0) this.#places.set(key, place)
      else this.#remove(key, place)
    }
    this.#forgetOthers(targets)
    this.#ticker ??= setInterval(() => this.#tick(), REPORT_MS).unref()
  }

  /** Returns why a target does not count as protected; undefined: it proved itself within the last minute. */
  problemOf({ id }: ProbeTarget): string | undefined {
    const known = this.#known.get(id)
    if (known === undefined) return NOT_PROBED_YET
    const { result, provenAt } = known
    if (result.type === 'proven') return this.#isRecent(provenAt) ? undefined : 'no recent probe'
    return result.type === 'silent' && this.#isRecent(provenAt) ? undefined : result.problem
  }

  async close(): Promise<void> {
    this.#ending.abort()
    clearInterval(this.#ticker)
    await Promise.all([...this.#places.values()].map((place) => place.close()))
  }

  #isRecent(provenAt: number | undefined): boolean {
    return provenAt !== undefined && this.#deps.now() - provenAt <= LASTS_MS
  }

  #newPlace(): ProbePlace {
    const { now, wait, onWarning } = this.#deps
    const place: ProbePlace = new ProbePlace({
      ...{ now, wait, signal: this.#ending.signal },
      sweepMs: () => Math.min(this.#count * SPACING_MS, SPREAD_MS),
      probe: (target) => this.#probe(place, target),
      onError: (error) => onWarning(`routes of the mesh cannot be probed: ${errorText(error)}`),
    })
    return place
  }

  #remove(key: string, place: ProbePlace): void {
    this.#places.delete(key)
    void place.close()
  }

  #forgetOthers(targets: readonly ProbeTarget[]): void {
    const current = new Set(targets.map(({ id }) => id))
    for (const id of this.#known.keys())
      if (!current.has(id)) {
        this.#known.delete(id)
        this.#ends.delete(id)
      }
  }

  /** Probes a target, and returns whether there was any answer. */
  async #probe(place: ProbePlace, target: ProbeTarget): Promise<boolean> {
    const { probe, now } = this.#deps
    const { signal } = this.#ending
    const at = now()
    const result = await probe(target, signal)
    const isAnswered = result.type !== 'silent' || result.isMute !== true
    if (signal.aborted || !place.has(target.id)) return isAnswered
    const before = this.problemOf(target)
    this.#know(target.id, result, at)
    if (this.problemOf(target) !== before) this.#isUnreported = true
    this.#report()
    return isAnswered
  }

  #know(id: string, result: ProbeResult, at: number): void {
    const provenAt = result.type === 'proven' ? at : this.#known.get(id)?.provenAt
    this.#known.set(id, { result, ...(provenAt !== undefined && { provenAt }) })
    if (result.type !== 'proven') return
    this.#ends.delete(id)
    this.#ends.set(id, at + LASTS_MS)
  }

  /** Reports what was not reported yet, and proofs that have become too old. */
  #tick(): void {
    for (const [id, end] of this.#ends) {
      if (end >= this.#deps.now()) break
      this.#ends.delete(id)
      this.#isUnreported = true
    }
    this.#report()
  }

  #report(): void {
    const { now, onChange } = this.#deps
    if (!this.#isUnreported || now() < this.#reportedAt + REPORT_MS) return
    this.#isUnreported = false
    this.#reportedAt = now()
    onChange()
  }
}
