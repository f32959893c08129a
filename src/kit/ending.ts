// A lightweight AbortSignal, without an EventTarget per instance or an exception with its stack per abort. Every
// request that passes a guard has one.

/** Signals an end, once. An AbortSignal is an Ending, too. */
export interface Ending {
  readonly aborted: boolean
  addEventListener(type: 'abort', listener: () => void): void
  removeEventListener(type: 'abort', listener: () => void): void
}

/** An Ending with the method that ends it. */
export class OwnEnding implements Ending {
  aborted = false
  #listeners: (() => void)[] | undefined

  /**
   * Calls the listeners in the order in which they were added; a second call does nothing. Throws the first error of a
   * listener after all were called: others give back what they hold.
   */
  abort(): void {
    const listeners = this.#listeners ?? []
    this.aborted = true
    this.#listeners = undefined
    const errors: unknown[] = []
    for (const listener of listeners)
      try {
        listener()
      } catch (error) {
        errors.push(error)
      }
    if (errors.length > 0) throw errors[0]
  }

  /** Adds a listener; one that is added after the end is never called. */
  addEventListener(_type: 'abort', listener: () => void): void {
    if (!this.aborted) (this.#listeners ??= []).push(listener)
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    const at = this.#listeners?.indexOf(listener) ?? -1
    if (at !== -1) this.#listeners?.splice(at, 1)
  }
}

/** Converts an Ending for APIs that require an AbortSignal. */
export function abortSignalOf(ending: Ending): AbortSignal {
  const controller = new AbortController()
  if (ending.aborted) controller.abort()
  ending.addEventListener('abort', () => controller.abort())
  return controller.signal
}
