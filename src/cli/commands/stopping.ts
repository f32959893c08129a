// Tells the end of a command from a failure: Ctrl-C on a terminal reaches the children of a command too, and their end
// may be noticed before the signal.

import { setTimeout as delay } from 'node:timers/promises'

/** How long after a failure a signal may come, in milliseconds. */
const SIGNAL_MS = 250

/** Resolves when the signal is aborted. */
export const aborted = (signal: AbortSignal): Promise<undefined> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(undefined)
    signal.addEventListener('abort', () => resolve(undefined), { once: true })
  })

/** Resolves to whether a command that has failed is being stopped, and failed for that. stop: of CommandIo. */
export async function isStopping(stop: AbortSignal): Promise<boolean> {
  if (!stop.aborted) await Promise.race([aborted(stop), delay(SIGNAL_MS)])
  return stop.aborted
}
