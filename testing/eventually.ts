// Retries an assertion until it holds; on a timeout, which only a busy machine comes near, rejects with its last failure.

const PAUSE_MS = 15

export async function eventually<T>(
  assertion: () => T | Promise<T>,
  timeoutMs = 60_000,
): Promise<T> {
  const end = performance.now() + timeoutMs
  for (;;) {
    try {
      return await assertion()
    } catch (failure) {
      if (performance.now() > end) throw failure
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    }
  }
}
