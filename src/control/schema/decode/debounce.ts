// Merges many calls into one: after a quiet period, or when the first call has waited long enough.

/** A function whose calls are merged. */
export interface Debounced {
  call(): void
  cancel(): void
}

/** Returns a debounced run: called quiet ms after the last call, and at most maxWait ms after the first. */
export function debounce(
  run: () => void,
  { quiet, maxWait }: { readonly quiet: number; readonly maxWait: number },
): Debounced {
  let timer: NodeJS.Timeout | undefined
  let latest = 0
  const cancel = () => {
    clearTimeout(timer)
    timer = undefined
  }
  return {
    call() {
      const now = performance.now()
      if (timer === undefined) latest = now + maxWait
      clearTimeout(timer)
      timer = setTimeout(
        () => {
          timer = undefined
          run()
        },
        Math.max(0, Math.min(quiet, latest - now)),
      )
    },
    cancel,
  }
}
