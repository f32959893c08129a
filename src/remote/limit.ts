// At most so many tasks at a time; the others wait in the order in which they came.

export type Limit = <T>(task: () => Promise<T>) => Promise<T>

export function createLimit(max: number): Limit {
  let running = 0
  const waiting: (() => void)[] = []
  return async (task) => {
    if (running >= max) await new Promise<void>((resolve) => waiting.push(resolve))
    else running += 1
    try {
      return await task()
    } finally {
      // The place goes to the next in line without being free in between.
      const next = waiting.shift()
      if (next === undefined) running -= 1
      else next()
    }
  }
}
