// Knows which HTTPRoutes the tables have entries of, and which have had none for a while.

import type { Differences } from '../incremental/diff.js'

interface OfRoute {
  /** NAMESPACE/NAME. */
  readonly route: string
}

/** The HTTPRoutes with entries in the tables. */
export class LiveRoutes {
  /** Number of entries by route. */
  readonly #entries = new Map<string, number>()
  /** When the last entry of a route vanished, in milliseconds since the epoch. */
  readonly #gone = new Map<string, number>()

  change({ removed, added }: Differences<OfRoute>, now: number): void {
    for (const { route } of added) this.#count(route, 1, now)
    for (const { route } of removed) this.#count(route, -1, now)
  }

  /** Returns the routes that vanished at or before that time and have not come back, once. */
  forget(vanishedBy: number): readonly string[] {
    const forgotten: string[] = []
    for (const [route, since] of this.#gone) if (since <= vanishedBy) forgotten.push(route)
    for (const route of forgotten) this.#gone.delete(route)
    return forgotten
  }

  #count(route: string, by: 1 | -1, now: number): void {
    const entries = (this.#entries.get(route) ?? 0) + by
    if (entries > 0) {
      this.#entries.set(route, entries)
      this.#gone.delete(route)
    } else {
      this.#entries.delete(route)
      this.#gone.set(route, now)
    }
  }
}
