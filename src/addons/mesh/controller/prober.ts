// Probes all targets again and again, and keeps the last result of each.

import { errorText } from '../../../kit/errors.js'
import { atOnce, Pace, type Work } from '../../../kit/turns.js'
import type { ProbeResult } from './probe.js'
import { type LaneDeps, ProbeLane } from './probe-lane.js'
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

/** Units of work to begin a place. */
const UNITS_OF_PLACE = 16

/** The problem of a target whose first probe is on its way. */
export const NOT_PROBED_YET = 'the first probe has not been answered yet'

/** Answers in succession that may be Envoy's own: more of them count as a backend's. */
const MOST_DOUBTFUL = 1

interface Known {
  readonly result: ProbeResult
  /** Answers since the last proof that Envoy itself or a backend may have given. */
  readonly doubtful: number
  /** When the target last proved itself; absent: never. */
  readonly provenAt?: number
}

/** Probes all targets again and again. */
export class Prober {
  readonly #deps: ProberDeps
  readonly #ending = new AbortController()
  readonly #places = new Map<string, ProbePlace>()
  #count = 0
  /** Number of times that targets were set. */
  #setting = 0
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

  /** Sets what is probed, at once. Targets that were never probed are next. */
  setTargets(targets: readonly ProbeTarget[]): void {
    atOnce(this.setTargetsWork(targets))
  }

  /** Sets what is probed, in slices. Ends early when other targets are set meanwhile. */
  *setTargetsWork(targets: readonly ProbeTarget[]): Work<void> {
    const setting = (this.#setting += 1)
    for (const change = this.#change(targets, new Pace()); ; yield) {
      if (this.#ending.signal.aborted || setting !== this.#setting) return
      if (change.next().done === true) return
    }
  }

  *#change(targets: readonly ProbeTarget[], pace: Pace): Work<void> {
    const current = new Set<string>()
    const byPlace = new Map<string, Map<string, ProbeTarget>>()
    for (const target of targets) {
      if (pace.isDue(UNITS_OF_TARGET)) yield
      current.add(target.id)
      const all = byPlace.get(target.place)
      if (all === undefined) byPlace.set(target.place, new Map([[target.id, target]]))
      else all.set(target.id, target)
    }
    this.#count = targets.length
    for (const [key, place] of this.#places) if (!byPlace.has(key)) this.#remove(key, place)
    for (const [key, all] of byPlace) {
      if (pace.isDue(UNITS_OF_PLACE)) yield
      const place = this.#places.get(key) ?? this.#newPlace()
      this.#places.set(key, place)
      yield* place.setTargets(all, pace)
    }
    for (const id of this.#known.keys()) {
      if (pace.isDue(UNITS_OF_TARGET)) yield
      if (current.has(id)) continue
      this.#known.delete(id)
      this.#ends.delete(id)
    }
    this.#ticker ??= setInterval(() => this.#tick(), REPORT_MS).unref()
  }

  /** Returns why a target does not count as protected; undefined: it proved itself within the last minute. */
  problemOf({ id }: ProbeTarget): string | undefined {
    const known = this.#known.get(id)
    if (known === undefined) return NOT_PROBED_YET
    const { result, provenAt, doubtful } = known
    if (result.type === 'proven') return this.#isRecent(provenAt) ? undefined : 'no recent probe'
    const mayBeClosed = result.type === 'silent' && doubtful <= MOST_DOUBTFUL
    return mayBeClosed && this.#isRecent(provenAt) ? undefined : result.problem
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
      now,
      wait,
      signal: this.#ending.signal,
      sweepMs: () => Math.min(this.#count * SPACING_MS, SPREAD_MS),
      probe: (target) => this.#probe(place, target),
      onError: (error) => onWarning(`routes of the mesh cannot be probed: ${errorText(error)}`),
    })
    return place
  }

  #remove(key: string, place: ProbePlace): void {
    this.#places.delete(key)
    place.clear()
    void place.close()
  }

  /** Probes a target, and returns whether there was any answer. */
  async #probe(place: ProbePlace, target: ProbeTarget): Promise<boolean> {
    const { probe, now } = this.#deps
    const { signal } = this.#ending
    const at = now()
    const result = await probe(target, signal)
    if (signal.aborted || !place.has(target.id)) return isAnswered(result)
    const before = this.problemOf(target)
    this.#know(target.id, result, at)
    if (this.problemOf(target) !== before) this.#isUnreported = true
    this.#report()
    return isAnswered(result)
  }

  #know(id: string, result: ProbeResult, at: number): void {
    const before = this.#known.get(id)
    const provenAt = result.type === 'proven' ? at : before?.provenAt
    const doubtful =
      result.type === 'proven' ? 0 : (before?.doubtful ?? 0) + Number(mayBeOpen(result))
    this.#known.set(id, { result, doubtful, ...(provenAt !== undefined && { provenAt }) })
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

const isAnswered = (result: ProbeResult): boolean =>
  result.type !== 'silent' || result.isMute !== true

const mayBeOpen = (result: ProbeResult): boolean =>
  result.type === 'silent' && result.mayBeOpen === true

// The targets of a Gateway at one address and port, in two lanes: those whose last probe had an answer, and those whose had
// none, which may take long.

/** Units of work to look at a target: ids are long, and maps of thousands. */
const UNITS_OF_TARGET = 4

/** The targets of a Gateway at one address and port. */
class ProbePlace {
  #targets: ReadonlyMap<string, ProbeTarget> = new Map()
  /** Targets whose last probe had an answer; one that had none in between is the last. */
  readonly #answering = new Set<string>()
  /** Targets that were never probed. */
  readonly #fresh = new Set<string>()
  /** Targets whose last probe had no answer, in the order of their next probes. */
  readonly #silent = new Set<string>()
  readonly #answeringLane: ProbeLane
  readonly #doubtfulLane: ProbeLane

  /** @param deps probe: as of a lane. */
  constructor(deps: Omit<LaneDeps, 'targets' | 'isEmpty' | 'has' | 'mayBeSilent'>) {
    const probe = async (target: ProbeTarget): Promise<boolean> => {
      const isAnswered = await deps.probe(target)
      this.#move(target.id, isAnswered)
      return isAnswered
    }
    const found = (...lists: readonly ReadonlySet<string>[]): readonly ProbeTarget[] =>
      lists.flatMap((ids) => [...ids].flatMap((id) => this.#targets.get(id) ?? []))
    const has = ({ id }: ProbeTarget): boolean => this.has(id)
    this.#answeringLane = new ProbeLane({
      ...deps,
      probe,
      has,
      mayBeSilent: () => true,
      targets: () => found(this.#answering),
      isEmpty: () => this.#answering.size === 0,
    })
    this.#doubtfulLane = new ProbeLane({
      // Beside others that answer, targets without an answer are probed as often as these.
      ...deps,
      probe,
      has,
      mayBeSilent: () => this.#answering.size === 0,
      targets: () => found(this.#fresh, this.#silent),
      isEmpty: () => this.#fresh.size + this.#silent.size === 0,
    })
  }

  /** Sets what is probed here, by id, in slices. Targets that were never probed are next. */
  *setTargets(targets: ReadonlyMap<string, ProbeTarget>, pace: Pace): Work<void> {
    const before = this.#targets
    this.#targets = targets
    for (const id of before.keys()) {
      if (pace.isDue(UNITS_OF_TARGET)) yield
      if (!targets.has(id)) for (const ids of this.#lists()) ids.delete(id)
    }
    const added: ProbeTarget[] = []
    for (const target of targets.values()) {
      if (pace.isDue(UNITS_OF_TARGET)) yield
      if (before.has(target.id)) continue
      added.push(target)
      this.#fresh.add(target.id)
    }
    this.#answeringLane.hurry()
    this.#doubtfulLane.hurry()
    this.#doubtfulLane.add(added)
  }

  /** Probes nothing more. */
  clear(): void {
    this.#targets = new Map()
    for (const ids of this.#lists()) ids.clear()
  }

  has(id: string): boolean {
    return this.#targets.has(id)
  }

  async close(): Promise<void> {
    await Promise.all([this.#answeringLane.close(), this.#doubtfulLane.close()])
  }

  /** Moves a target to the end of the lane that its result asks for. */
  #move(id: string, isAnswered: boolean): void {
    if (!this.#targets.has(id)) return
    const wasFresh = this.#fresh.delete(id)
    const wasInDoubt = this.#silent.delete(id) || wasFresh
    if (!isAnswered) {
      this.#answering.delete(id)
      this.#silent.add(id)
      this.#doubtfulLane.wake()
    } else if (wasInDoubt) {
      this.#answering.add(id)
      this.#answeringLane.wake()
    }
  }

  #lists(): readonly Set<string>[] {
    return [this.#answering, this.#fresh, this.#silent]
  }
}
