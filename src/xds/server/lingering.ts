// Resources that nothing names any more and that are not removed yet, by the time at which that began.

/** The lingering resources of one type on one stream. */
export class Lingering {
  readonly #since = new Map<string, number>()

  /** Returns when a resource began to linger, by performance.now(): now, if it did not yet. */
  begunAt(name: string, now: number): number {
    const since = this.#since.get(name) ?? now
    this.#since.set(name, since)
    return since
  }

  /** Forgets all others: they are wanted again, or removed. */
  keep(names: readonly string[]): void {
    if (this.#since.size === 0) return
    const kept = new Set(names)
    for (const name of this.#since.keys()) if (!kept.has(name)) this.#since.delete(name)
  }

  /** When the first of them began; undefined if there is none. */
  get firstAt(): number | undefined {
    return this.#since.values().next().value
  }
}
