// Events of folder watchers → which files are being written to, rather than renamed to where they are.

/** Longer than an event and the look at the file that it leads to can be apart. */
const REMEMBERED_MS = 10_000

/** By their names alone: a link and what it leads to lie in different folders. */
export class SeenWrites {
  readonly #written = new Map<string, number>()
  #anyUntil = 0

  /** event: "rename" (it is new, moved or gone) or "change" (it was written to); null: the system does not say which. */
  saw(event: string, name: string | null): void {
    const now = performance.now()
    if (name === null) this.#anyUntil = now + REMEMBERED_MS
    else if (event === 'change') this.#written.set(name, now)
    else this.#written.delete(name)
  }

  /** Since it came to be where it is. */
  has(name: string): boolean {
    const at = this.#written.get(name)
    return performance.now() < Math.max(this.#anyUntil, (at ?? -Infinity) + REMEMBERED_MS)
  }

  forgetOld(): void {
    const oldest = performance.now() - REMEMBERED_MS
    for (const [name, at] of this.#written) if (at < oldest) this.#written.delete(name)
  }
}
