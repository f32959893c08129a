// The targets of a Gateway at one address and port, in two lanes: those whose last probe had an answer, and those whose had
// none, which may take long.

import { type LaneDeps, ProbeLane } from './probe-lane.js'
import type { ProbeTarget } from './probe-targets.js'

/** The targets of a Gateway at one address and port. */
export class ProbePlace {
  #targets: ReadonlyMap<string, ProbeTarget> = new Map()
  /** Targets whose last probe had an answer; one that had none in between is the last. */
  readonly #answering = new Set<string>()
  /** Targets whose last probe had no answer, and new ones, in the order of their next probes. */
  #doubtful: Set<string> = new Set()
  readonly #answeringLane: ProbeLane
  readonly #doubtfulLane: ProbeLane

  /** @param deps probe: as of a lane. */
  constructor(deps: Omit<LaneDeps, 'targets' | 'mayBeSilent'>) {
    const probe = async (target: ProbeTarget): Promise<boolean> => {
      const isAnswered = await deps.probe(target)
      this.#move(target.id, isAnswered)
      return isAnswered
    }
    const found = (ids: ReadonlySet<string>): readonly ProbeTarget[] =>
      [...ids].flatMap((id) => this.#targets.get(id) ?? [])
    this.#answeringLane = new ProbeLane({
      ...{ ...deps, probe, mayBeSilent: () => true },
      targets: () => found(this.#answering),
    })
    this.#doubtfulLane = new ProbeLane({
      // Beside others that answer, targets without an answer are probed as often as these.
      ...{ ...deps, probe, mayBeSilent: () => this.#answering.size === 0 },
      targets: () => found(this.#doubtful),
    })
  }

  /** Sets what is probed here. Targets that were never probed are next. */
  setTargets(targets: readonly ProbeTarget[]): void {
    const before = this.#targets
    this.#targets = new Map(targets.map((target) => [target.id, target]))
    for (const ids of [this.#answering, this.#doubtful])
      for (const id of ids) if (!this.#targets.has(id)) ids.delete(id)
    const added = targets.filter(({ id }) => !before.has(id))
    this.#doubtful = new Set([...added.map(({ id }) => id), ...this.#doubtful])
    this.#answeringLane.hurry()
    this.#doubtfulLane.hurry()
    this.#doubtfulLane.add(added)
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
    const wasInDoubt = this.#doubtful.delete(id)
    if (!isAnswered) {
      this.#answering.delete(id)
      this.#doubtful.add(id)
      this.#doubtfulLane.wake()
    } else if (wasInDoubt) {
      this.#answering.add(id)
      this.#answeringLane.wake()
    }
  }
}
