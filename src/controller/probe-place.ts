// The targets of a Gateway at one address and port, in two lanes: those whose last probe had an answer, and those whose had
// none, which may take long.

import type { Pace, Work } from '../turns.js'
import { type LaneDeps, ProbeLane } from './probe-lane.js'
import type { ProbeTarget } from './probe-targets.js'

/** Units of work to look at a target: ids are long, and maps of thousands. */
export const UNITS_OF_TARGET = 4

/** The targets of a Gateway at one address and port. */
export class ProbePlace {
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
      ...{ ...deps, probe, has, mayBeSilent: () => true },
      targets: () => found(this.#answering),
      isEmpty: () => this.#answering.size === 0,
    })
    this.#doubtfulLane = new ProbeLane({
      // Beside others that answer, targets without an answer are probed as often as these.
      ...{ ...deps, probe, has, mayBeSilent: () => this.#answering.size === 0 },
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
