// Checks, counted in plain maps: a counter with three labels would build a key of them at every check.

interface Labels {
  readonly route: string
  readonly decision: string
  readonly reason: string
}

interface Count extends Labels {
  count: number
}

export class CheckCounts {
  /** By route, then by reason: few of each. */
  private readonly counts = new Map<string, Count[]>()

  add(route: string, decision: string, reason: string): void {
    const known = this.counts.get(route)
    if (known === undefined) {
      this.counts.set(route, [{ route, decision, reason, count: 1 }])
      return
    }
    for (const one of known)
      if (one.reason === reason && one.decision === decision) {
        one.count += 1
        return
      }
    known.push({ route, decision, reason, count: 1 })
  }

  /** Hands over what was counted since the last time. */
  flush(take: (labels: Labels, count: number) => void): void {
    for (const { count, ...labels } of [...this.counts.values()].flat()) take(labels, count)
    this.counts.clear()
  }
}
