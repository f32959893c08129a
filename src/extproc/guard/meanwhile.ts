// Does something while work that has been started waits for others.

/** Returns the result of work. act: called now; an error of it is thrown once the work has ended. */
export function meanwhile<T>(work: Promise<T>, act: () => void): Promise<T> {
  try {
    act()
    return work
  } catch (error) {
    return work.then(() => {
      throw error
    })
  }
}
