// What was refused together, so that nobody knows which of it is bad: halved until that is known (group testing).

export class Suspects {
  /** name → the number of its group, from 1 on: the lower, the sooner. */
  readonly #groups = new Map<string, number>()
  #last = 0

  get size(): number {
    return this.#groups.size
  }

  delete(name: string): boolean {
    return this.#groups.delete(name)
  }

  /** A new group, after all others: the larger ones come first, so that most of what is good is soon in force. */
  add(names: readonly string[]): void {
    this.#last += 1
    for (const name of names) this.#groups.set(name, this.#last)
  }

  addHalves(names: readonly string[]): void {
    const middle = Math.ceil(names.length / 2)
    this.add(names.slice(0, middle))
    this.add(names.slice(middle))
  }

  /** 0: no suspect. */
  groupOf(name: string): number {
    return this.#groups.get(name) ?? 0
  }

  /** Of the groups of these names the one that comes first. */
  firstGroup(names: Iterable<string>): number {
    let first = Infinity
    for (const name of names) first = Math.min(first, this.groupOf(name))
    return Number.isFinite(first) ? first : 0
  }
}
