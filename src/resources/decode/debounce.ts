// Many calls → one: after a quiet while, or when the first of them has waited long enough.

export interface Debounced {
  call(): void
  cancel(): void
}

/** Milliseconds: quiet after the last call, and at most maxWait after the first. */
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
