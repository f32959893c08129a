// Limits log lines that others can cause without end to one per key in ten seconds, with the number left out.

const EVERY_MS = 10_000
const MAX_KEYS = 256
/** Key that all further keys share while there are too many. */
const OTHERS = ''

/** Tells how many were left out since the last line. isShared: they may have different keys. */
export type TellRest = (leftOut: number, isShared: boolean) => void

/** How a line is limited. */
export interface TakeOptions {
  /** Called after the line, if it may be written, for those left out that no later line tells of. */
  readonly rest?: TellRest
  /** Whether the line may be written although its key had one; default false. */
  readonly isFree?: boolean
}

/** Limits log lines by key. */
export interface LogLimit {
  /** Returns undefined if no line may be written, else how many of this key were left out since its last one. */
  take(key: string, options?: TakeOptions): number | undefined
  /** Whether the key has lines of its own, and need not share those of all that there is no room for. */
  hasRoom(key: string): boolean
  /** Tells of all that were left out, as at the end of the process. */
  flush(): void
}

interface Line {
  readonly at: number
  readonly rest: TellRest | undefined
  leftOut: number
}

/** now: milliseconds since the epoch. maxKeys: number of keys that are remembered. */
export function createLogLimit(now: () => number, maxKeys = MAX_KEYS): LogLimit {
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
      if (lines.size < maxKeys) break
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
  const hasRoom = (key: string): boolean => lines.has(key) || makeRoom()
  const take = (key: string, options: TakeOptions = {}): number | undefined => {
    if (key !== OTHERS && !hasRoom(key)) return take(OTHERS, options)
    const { rest, isFree = false } = options
    const line = lines.get(key)
    if (line !== undefined && !isFree && !isOver(line)) {
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
  return { take, hasRoom, flush }
}
