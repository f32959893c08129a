// Counts how often other work gets a turn of the event loop while something runs.

/** Runs the work, and returns its result and the number of turns that the event loop had meanwhile. */
export async function countTurns<T>(
  work: () => T | Promise<T>,
): Promise<{ readonly result: T; readonly turns: number }> {
  let turns = 0
  const count = (): void => {
    turns += 1
    next = setImmediate(count)
  }
  let next = setImmediate(count)
  try {
    const result = await work()
    return { result, turns }
  } finally {
    clearImmediate(next)
  }
}
