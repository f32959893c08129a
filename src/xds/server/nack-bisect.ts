// Bisects NACKed batches to isolate the bad resource (group testing).

/** Names that were rejected together, in groups that are sent one by one. */
export class Suspects {
  /** Group number by name, from 1; lower groups are sent first. */
  readonly #groups = new Map<string, number>()
  #last = 0

  get size(): number {
    return this.#groups.size
  }

  delete(name: string): boolean {
    return this.#groups.delete(name)
  }

  /** Adds a group after all others. Larger groups are sent first, so most good resources are soon in force. */
  add(names: readonly string[]): void {
    this.#last += 1
    for (const name of names) this.#groups.set(name, this.#last)
  }

  addHalves(names: readonly string[]): void {
    const middle = Math.ceil(names.length / 2)
    this.add(names.slice(0, middle))
    this.add(names.slice(middle))
  }

  /** Returns the group of a name; 0 if it is not suspect. */
  groupOf(name: string): number {
    return this.#groups.get(name) ?? 0
  }

  /** Returns the group of these names that is sent first. */
  firstGroup(names: Iterable<string>): number {
    let first = Infinity
    for (const name of names) first = Math.min(first, this.groupOf(name))
    return Number.isFinite(first) ? first : 0
  }
}
