// Per-object exponential backoff for status writes that failed or were overwritten.

/** The pauses of all objects. */
export interface StatusRetries {
  /** Schedules a retry after a pause. */
  later(key: string): void
  /** Keys whose pause is over. The caller removes those it takes. */
  readonly due: Set<string>
  /** Records a successful write. If the status stays as written for a while, the next pause is short again. */
  written(key: string): void
  /** Drops the pause of an object, as the wanted status has changed. */
  forget(key: string): void
  clear(): void
}

/** Pauses in milliseconds. */
const FIRST_PAUSE = 500
const LONGEST_PAUSE = 30_000

interface Pause {
  readonly milliseconds: number
  readonly until: number
  /** performance.now() of the last successful write. */
  readonly written?: number
}

/** Creates the schedule. Calls onDue every half second while any retry is pending. */
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

/** Returns the next pause. Success does not shorten it: two writers that overwrite each other both keep succeeding. */
function pauseAfter(before: Pause | undefined, now: number): number {
  const hasStayed = before?.written !== undefined && now - before.written > LONGEST_PAUSE
  return before === undefined || hasStayed
    ? FIRST_PAUSE
    : Math.min(before.milliseconds * 2, LONGEST_PAUSE)
}
