// The line in front of a webhook: at most so many calls at once, and among those that wait, replies before prompts. A
// reply that waits holds up a request that has got past the webhook already; a prompt is only the next one.

import type { Phase } from '../ir/proc-entry.js'

/** Most calls of one phase that wait. */
export const MOST_WAITING = 4096

export interface WebhookLine {
  /** Calls start when it is its turn, perhaps at once. undefined: too many wait. Otherwise what takes it out again. */
  enter(phase: Phase, start: () => void): (() => void) | undefined
  /** One of those that were started has ended. */
  leave(): void
}

/** max: 0: no limit. */
export function createLine(max: number): WebhookLine {
  const waiting: Readonly<Record<Phase, Set<() => void>>> = {
    response: new Set(),
    request: new Set(),
  }
  let running = 0
  let isStarting = false

  const isFree = (): boolean => max === 0 || running < max
  const startNext = (): boolean => {
    for (const phase of ['response', 'request'] as const)
      for (const start of waiting[phase]) {
        waiting[phase].delete(start)
        running += 1
        start()
        return true
      }
    return false
  }
  return {
    enter: (phase, start) => {
      if (isFree()) {
        running += 1
        start()
        return () => {}
      }
      if (waiting[phase].size >= MOST_WAITING) return undefined
      waiting[phase].add(start)
      return () => void waiting[phase].delete(start)
    },
    leave: () => {
      running -= 1
      // One that fails as it starts leaves from within.
      if (isStarting) return
      isStarting = true
      while (isFree() && startNext());
      isStarting = false
    },
  }
}
