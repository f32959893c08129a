// At most so many tasks at a time; the others wait in the order in which they came, those that can wait behind the rest.

export type Limit = <T>(task: () => Promise<T>, canWait?: boolean) => Promise<T>

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
      // The place goes to the next in line without being free in between.
      const next = waiting.shift() ?? last.shift()
      if (next === undefined) running -= 1
      else next()
    }
  }
}
