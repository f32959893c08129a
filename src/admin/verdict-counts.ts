// Counts the outcomes of calls of webhooks in plain maps: a counter of prom-client with five labels would build a key at
// every call.

/** Labels of the counter. */
export interface CountedVerdict {
  /** Name of its backend. */
  readonly webhook: string
  readonly phase: string
  readonly outcome: string
  /** Why there is no verdict; absent: there is one. */
  readonly reason?: string
  readonly mode?: 'audit'
}

interface Count {
  readonly labels: CountedVerdict
  count: number
}

/** Counts of verdicts since the last flush. */
export class VerdictCounts {
  /** Counts by webhook; each has few combinations of the other labels. */
  private readonly counts = new Map<string, Count[]>()

  add(labels: CountedVerdict): void {
    const known = this.counts.get(labels.webhook)
    const same = known?.find((one) => isSame(one.labels, labels))
    if (same !== undefined) same.count += 1
    else if (known !== undefined) known.push({ labels, count: 1 })
    else this.counts.set(labels.webhook, [{ labels, count: 1 }])
  }

  /** Hands over the counts since the last call. */
  flush(take: (labels: CountedVerdict, count: number) => void): void {
    for (const counts of this.counts.values())
      for (const one of counts) {
        if (one.count > 0) take(one.labels, one.count)
        one.count = 0
      }
  }
}

/** Compares everything except the webhook. */
const isSame = (one: CountedVerdict, other: CountedVerdict): boolean =>
  one.outcome === other.outcome &&
  one.phase === other.phase &&
  one.reason === other.reason &&
  one.mode === other.mode
