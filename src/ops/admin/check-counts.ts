// Counts checks in plain maps: a counter of prom-client with three labels would build a key at every check.

import type { Work } from '../../kit/turns.js'

interface Labels {
  readonly route: string
  readonly decision: string
  readonly reason: string
  /** Present for decisions of policies of mode Audit. */
  readonly mode?: 'audit'
}

interface Count extends Labels {
  count: number
}

/** Counter of checks by route, decision, reason and mode. */
export class CheckCounts {
  /** Counts by route since the last flush; few combinations of decision and reason each. */
  readonly #counts = new Map<string, Count[]>()

  add(route: string, decision: string, reason: string, mode?: 'audit'): void {
    const known = this.#counts.get(route)
    if (known !== undefined)
      for (const one of known)
        if (one.reason === reason && one.decision === decision && one.mode === mode) {
          one.count += 1
          return
        }
    const first = { route, decision, reason, ...(mode !== undefined && { mode }), count: 1 }
    if (known === undefined) this.#counts.set(route, [first])
    else known.push(first)
  }

  /** Hands over the counts since the last call. Yields after each route. */
  *flush(take: (labels: Labels, count: number) => void): Work<void> {
    for (const counts of this.#counts.values()) {
      for (const one of counts) {
        const { count, ...labels } = one
        if (count > 0) take(labels, count)
        one.count = 0
      }
      yield
    }
  }

  /** Drops the counts of a route and returns their labels, which flush() may have handed over. */
  forget(route: string): readonly Labels[] {
    const counts = this.#counts.get(route) ?? []
    this.#counts.delete(route)
    return counts.map(({ count: _, ...labels }) => labels)
  }
}
