// Limits log lines that others can cause without end to one per key in ten seconds, with the number left out.

const EVERY_MS = 10_000
const MAX_KEYS = 256
/** Key that all further keys share while there are too many. */
const OTHERS = ''

export interface LogLimit {
  /** Returns undefined if no line may be written, else how many of this key were left out since its last one. */
  take(key: string): number | undefined
}

interface Line {
  readonly at: number
  leftOut: number
}

/** Creates a limit that remembers a bounded number of keys. now: milliseconds since the epoch. */
export function createLogLimit(now: () => number): LogLimit {
  // In the order of their last lines.
  const lines = new Map<string, Line>()

  const isOver = ({ at }: Line): boolean => {
    const age = now() - at
    return age >= EVERY_MS || age < 0
  }
  const makeRoom = (): boolean => {
    for (const [oldest, line] of lines) {
      if (lines.size < MAX_KEYS) break
      if (!isOver(line)) return false
      lines.delete(oldest)
    }
    return true
  }
  const take = (key: string): number | undefined => {
    const line = lines.get(key)
    if (line === undefined && key !== OTHERS && !makeRoom()) return take(OTHERS)
    if (line !== undefined && !isOver(line)) {
      line.leftOut += 1
      return undefined
    }
    lines.delete(key)
    lines.set(key, { at: now(), leftOut: 0 })
    return line?.leftOut ?? 0
  }
  return { take }
}
