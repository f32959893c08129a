// Counts checks in plain maps: a counter of prom-client with three labels would build a key at every check.

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

export class CheckCounts {
  /** Lists of counts by route; few combinations of decision and reason each. */
  private readonly counts = new Map<string, Count[]>()

  add(route: string, decision: string, reason: string, mode?: 'audit'): void {
    const known = this.counts.get(route)
    if (known !== undefined)
      for (const one of known)
        if (one.reason === reason && one.decision === decision && one.mode === mode) {
          one.count += 1
          return
        }
    const first = { route, decision, reason, ...(mode !== undefined && { mode }), count: 1 }
    if (known === undefined) this.counts.set(route, [first])
    else known.push(first)
  }

  /** Hands over and clears the counts since the last call. */
  flush(take: (labels: Labels, count: number) => void): void {
    for (const { count, ...labels } of [...this.counts.values()].flat()) take(labels, count)
    this.counts.clear()
  }
}
