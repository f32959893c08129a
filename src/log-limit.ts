// Limits log lines that others can cause without end to one per key in ten seconds, with the number left out.

const EVERY_MS = 10_000
const MAX_KEYS = 256
/** Key that all further keys share while there are too many. */
const OTHERS = ''

/** Tells how many were left out since the last line. isShared: they may have different keys. */
export type TellRest = (leftOut: number, isShared: boolean) => void

/** Limits log lines by key. */
export interface LogLimit {
  /**
   * Returns undefined if no line may be written, else how many of this key were left out since its last one. rest: called
   * after the line, if it may be written, for those left out that no later line tells of.
   */
  take(key: string, rest?: TellRest): number | undefined
  /** Tells of all that were left out, as at the end of the process. */
  flush(): void
}

interface Line {
  readonly at: number
  readonly rest: TellRest | undefined
  leftOut: number
}

/** Creates a limit that remembers a bounded number of keys. now: milliseconds since the epoch. */
export function createLogLimit(now: () => number): LogLimit {
  // In the order of their last lines.
  const lines = new Map<string, Line>()
  let timer: NodeJS.Timeout | undefined

  const isOver = ({ at }: Line): boolean => {
    const age = now() - at
    return age >= EVERY_MS || age < 0
  }
  const forget = (key: string, { rest, leftOut }: Line): void => {
    lines.delete(key)
    try {
      if (leftOut > 0) rest?.(leftOut, key === OTHERS)
    } catch {
      // A log that fails must not end the process, as it would from a timer.
    }
  }
  const makeRoom = (): boolean => {
    for (const [oldest, line] of lines) {
      if (lines.size < MAX_KEYS) break
      if (!isOver(line)) return false
      forget(oldest, line)
    }
    return true
  }
  /** Starts the timer for the oldest line that still has something to tell. */
  const startTimer = (): void => {
    const oldest = [...lines.values()].find(({ leftOut, rest }) => leftOut > 0 && rest)
    if (oldest === undefined) return
    timer = setTimeout(tellOver, Math.max(1, oldest.at + EVERY_MS - now()))
    timer.unref()
  }
  const tellOver = (): void => {
    timer = undefined
    for (const [key, line] of lines) {
      if (isOver(line)) forget(key, line)
    }
    startTimer()
  }
  const take = (key: string, rest?: TellRest): number | undefined => {
    const line = lines.get(key)
    if (line === undefined && key !== OTHERS && !makeRoom()) return take(OTHERS, rest)
    if (line !== undefined && !isOver(line)) {
      line.leftOut += 1
      if (line.rest !== undefined && timer === undefined) startTimer()
      return undefined
    }
    lines.delete(key)
    lines.set(key, { at: now(), rest, leftOut: 0 })
    return line?.leftOut ?? 0
  }
  const flush = (): void => {
    clearTimeout(timer)
    timer = undefined
    for (const [key, line] of lines) forget(key, line)
  }
  return { take, flush }
}
