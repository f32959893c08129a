// Waiting for something, but not for long.

/** True when promise resolved within ms; false when it did not, or failed. Leaves no timer behind. */
export function within(ms: number, promise: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), ms)
    const settle = (done: boolean): void => {
      clearTimeout(timer)
      resolve(done)
    }
    promise.then(
      () => settle(true),
      () => settle(false),
    )
  })
}
