// Reads long bodies a few at a time, since each holds a tree of its values, with a bounded queue of waiting ones.

/** A queue for reading long bodies. */
export interface BodyLine {
  /** Runs read, after waiting for its turn if necessary. undefined: too many are waiting already. */
  run<T>(read: () => Promise<T>): Promise<T> | undefined
}

/** Maximum number of bodies read at once, each of up to 50,000 values. */
const AT_ONCE = 4
/** Maximum number of waiting bodies, each of up to --mcp-body-bytes. */
const MOST_WAITING = 64

/** Creates a queue. atOnce: number of bodies read at the same time; mostWaiting: number that may wait. */
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
