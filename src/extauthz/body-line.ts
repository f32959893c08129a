// Bodies that are too long to be read at once: a few at a time, as each holds a tree of its values, and a bounded line
// of those that wait.

export interface BodyLine {
  /** Waits for a place and runs read in it. undefined: too many wait already. */
  run<T>(read: () => Promise<T>): Promise<T> | undefined
}

/** Of up to 50,000 values each. */
const AT_ONCE = 4
/** Of up to --mcp-body-bytes each. */
const MOST_WAITING = 64

export function createBodyLine(atOnce = AT_ONCE, mostWaiting = MOST_WAITING): BodyLine {
  let running = 0
  const waiting: (() => void)[] = []
  const place = (): Promise<void> =>
    new Promise((resolve) => {
      waiting.push(resolve)
    })
  const inPlace = async <T>(read: () => Promise<T>): Promise<T> => {
    if (running >= atOnce) await place()
    else running += 1
    try {
      return await read()
    } finally {
      const next = waiting.shift()
      if (next === undefined) running -= 1
      else next()
    }
  }
  return {
    run: (read) => (running >= atOnce && waiting.length >= mostWaiting ? undefined : inPlace(read)),
  }
}
