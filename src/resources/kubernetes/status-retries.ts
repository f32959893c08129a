// When a status is written again that could not be written, or that somebody else has overwritten: after a pause of its
// object's own, which grows for as long as the status does not stay.

export interface StatusRetries {
  /** Again after a pause. */
  later(key: string): void
  /** Those whose pause is over; whoever takes one deletes it. */
  readonly due: Set<string>
  /** It is written; if it stays so for a while, the next pause is short again. */
  written(key: string): void
  /** What is to be written has changed: no pause counts any more. */
  forget(key: string): void
  clear(): void
}

/** Milliseconds. */
const FIRST_PAUSE = 500
const LONGEST_PAUSE = 30_000

interface Pause {
  readonly milliseconds: number
  readonly until: number
  /** Since when it is as it should be. */
  readonly written?: number
}

/** onDue is called every half second while there is anything to be tried again. */
export function createStatusRetries(onDue: () => void): StatusRetries {
  const pauses = new Map<string, Pause>()
  const waiting = new Set<string>()
  const due = new Set<string>()
  let timer: NodeJS.Timeout | undefined

  const look = (): void => {
    timer = undefined
    const now = performance.now()
    for (const key of waiting) {
      if ((pauses.get(key)?.until ?? 0) > now) continue
      waiting.delete(key)
      due.add(key)
    }
    onDue()
    if (waiting.size + due.size > 0) timer ??= setTimeout(look, FIRST_PAUSE)
  }
  return {
    due,
    later: (key) => {
      if (waiting.has(key) || due.has(key)) return
      const now = performance.now()
      const milliseconds = pauseAfter(pauses.get(key), now)
      pauses.set(key, { milliseconds, until: now + milliseconds })
      waiting.add(key)
      timer ??= setTimeout(look, FIRST_PAUSE)
    },
    written: (key) => {
      const before = pauses.get(key)
      if (before !== undefined) pauses.set(key, { ...before, written: performance.now() })
    },
    forget: (key) => {
      pauses.delete(key)
      waiting.delete(key)
      due.delete(key)
    },
    clear: () => {
      for (const kept of [pauses, waiting, due]) kept.clear()
      clearTimeout(timer)
      timer = undefined
    },
  }
}

/** Two that write over each other succeed each time: success alone makes no pause shorter. */
function pauseAfter(before: Pause | undefined, now: number): number {
  const hasStayed = before?.written !== undefined && now - before.written > LONGEST_PAUSE
  return before === undefined || hasStayed
    ? FIRST_PAUSE
    : Math.min(before.milliseconds * 2, LONGEST_PAUSE)
}
