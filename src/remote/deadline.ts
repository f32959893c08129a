// Ends a call at its timeout or by its caller's signal, and records which of them came first.

import { RemoteError, type RemoteFailure } from './connect/remote-failure.js'

/** The end of a call at the latest. */
export interface Deadline {
  readonly signal: AbortSignal
  /** Returns why the call ended early; undefined if it did not. */
  failure(): RemoteFailure | undefined
  /** Releases the timer and the caller's signal. */
  end(): void
}

/** Longest timer of Node; a later deadline is in practice none. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Starts a deadline. timeoutMs: undefined for none. */
export function startDeadline(
  timeoutMs: number | undefined,
  caller: AbortSignal | undefined,
): Deadline {
  const controller = new AbortController()
  let failure: RemoteFailure | undefined
  const stop = (reason: RemoteFailure) => {
    failure ??= reason
    controller.abort()
  }
  const onCallerAbort = () => stop({ type: 'aborted' })
  const timer =
    timeoutMs === undefined
      ? undefined
      : setTimeout(() => stop({ type: 'timeout', timeoutMs }), Math.min(timeoutMs, MAX_TIMER_MS))
  if (caller?.aborted === true) onCallerAbort()
  else caller?.addEventListener('abort', onCallerAbort, { once: true })
  return {
    signal: controller.signal,
    failure: () => failure,
    end: () => {
      clearTimeout(timer)
      caller?.removeEventListener('abort', onCallerAbort)
    },
  }
}

/** Settles with work, or rejects at the deadline even if work cannot be stopped (a name resolution). */
export async function withDeadline<T>(work: Promise<T>, deadline: Deadline): Promise<T> {
  let onAbort = () => {}
  const ended = new Promise<never>((_, reject) => {
    onAbort = () => reject(new RemoteError(deadline.failure() ?? { type: 'aborted' }))
    if (deadline.signal.aborted) onAbort()
    else deadline.signal.addEventListener('abort', onAbort, { once: true })
  })
  try {
    return await Promise.race([work, ended])
  } finally {
    deadline.signal.removeEventListener('abort', onAbort)
  }
}
