// Waits for a promise for a limited time.

/** Resolves with the promise's value; undefined if it rejects or takes longer than ms. Leaves no timer behind. */
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
