// Concurrency limiter: at most `max` tasks run, the rest wait in FIFO order, those with canWait after all others.

/** Runs tasks within a limit. */
export type Limit = <T>(task: () => Promise<T>, canWait?: boolean) => Promise<T>

/** Creates a limiter. */
export function createLimit(max: number): Limit {
  let running = 0
  const waiting: (() => void)[] = []
  const last: (() => void)[] = []
  return async (task, canWait = false) => {
    if (running >= max)
      await new Promise<void>((resolve) => (canWait ? last : waiting).push(resolve))
    else running += 1
    try {
      return await task()
    } finally {
      // The place passes directly to the next task.
      const next = waiting.shift() ?? last.shift()
      if (next === undefined) running -= 1
      else next()
    }
  }
}
