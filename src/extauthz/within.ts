// Waiting for something, but not for long.

/** What promise resolved with within ms; undefined when it did not, or failed. Leaves no timer behind. */
export function within<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(undefined), ms)
    const settle = (value: T | undefined): void => {
      clearTimeout(timer)
      resolve(value)
    }
    promise.then(settle, () => settle(undefined))
  })
}
