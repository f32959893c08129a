// The end of what somebody waits for, told once: what an AbortSignal tells, without an EventTarget for each and an
// exception with its stack for each abort. There is one for every request that passes a guard.

/** An AbortSignal is one too. */
export interface Ending {
  readonly aborted: boolean
  addEventListener(type: 'abort', listener: () => void): void
  removeEventListener(type: 'abort', listener: () => void): void
}

/** An ending, and what ends it. */
export class OwnEnding implements Ending {
  aborted = false
  private listeners: (() => void)[] | undefined

  /** Its listeners are called in the order in which they came; nothing happens the second time. */
  abort(): void {
    const { listeners = [] } = this
    this.aborted = true
    this.listeners = undefined
    for (const listener of listeners) listener()
  }

  /** One that comes after the end is never called. */
  addEventListener(_type: 'abort', listener: () => void): void {
    if (!this.aborted) (this.listeners ??= []).push(listener)
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    const at = this.listeners?.indexOf(listener) ?? -1
    if (at !== -1) this.listeners?.splice(at, 1)
  }
}

/** For who takes nothing else. */
export function abortSignalOf(ending: Ending): AbortSignal {
  const controller = new AbortController()
  if (ending.aborted) controller.abort()
  ending.addEventListener('abort', () => controller.abort())
  return controller.signal
}
