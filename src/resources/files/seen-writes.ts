// Tracks, from watcher events, which files are written in place rather than renamed into place.

/** Exceeds the longest delay between an event and the resulting look at the file, in milliseconds. */
const REMEMBERED_MS = 10_000

/** Files written in place, by name alone, as a link and its target are in different folders. */
export class SeenWrites {
  readonly #written = new Map<string, number>()
  #anyUntil = 0

  /** Records an event: "rename" (new, moved or gone) or "change" (written to); name is null if the system has none. */
  saw(event: string, name: string | null): void {
    const now = performance.now()
    if (name === null) this.#anyUntil = now + REMEMBERED_MS
    else if (event === 'change') this.#written.set(name, now)
    else this.#written.delete(name)
  }

  /** Whether the file may have been written to since it was created or renamed. */
  has(name: string): boolean {
    const at = this.#written.get(name)
    return performance.now() < Math.max(this.#anyUntil, (at ?? -Infinity) + REMEMBERED_MS)
  }

  forgetOld(): void {
    const oldest = performance.now() - REMEMBERED_MS
    for (const [name, at] of this.#written) if (at < oldest) this.#written.delete(name)
  }
}
