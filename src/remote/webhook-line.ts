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

/** How many may run, where that is for others to say: places that several processes share. */
export interface SharedPlaces {
  /** At this moment. */
  most(): number
  /** Of one phase, at once. */
  readonly mostWaiting: number
  /** Another call waits, or waits no more. */
  onWaiting(waiting: number): void
  /** A call has ended, before another one starts in its place; running: those that are left. */
  onEnd(running: number): void
}

export interface SharedLine extends WebhookLine {
  readonly running: number
  readonly waiting: number
  /** There may be more places now. */
  startFree(): void
}

/** max: 0: no limit. */
export const createLine = (max: number): WebhookLine =>
  createSharedLine({
    most: () => (max === 0 ? Infinity : max),
    mostWaiting: MOST_WAITING,
    onWaiting: () => undefined,
    onEnd: () => undefined,
  })

export function createSharedLine(places: SharedPlaces): SharedLine {
  const waiting: Readonly<Record<Phase, Set<() => void>>> = {
    response: new Set(),
    request: new Set(),
  }
  let running = 0
  let isStarting = false

  const isFree = (): boolean => running < places.most()
  const all = (): number => waiting.response.size + waiting.request.size
  const tell = (): void => places.onWaiting(all())
  const startNext = (): boolean => {
    for (const phase of ['response', 'request'] as const)
      for (const start of waiting[phase]) {
        waiting[phase].delete(start)
        tell()
        running += 1
        start()
        return true
      }
    return false
  }
  const startFree = (): void => {
    // One that fails as it starts leaves from within.
    if (isStarting) return
    isStarting = true
    while (isFree() && startNext());
    isStarting = false
  }
  return {
    enter: (phase, start) => {
      if (isFree()) {
        running += 1
        start()
        return () => {}
      }
      if (waiting[phase].size >= places.mostWaiting) return undefined
      waiting[phase].add(start)
      tell()
      return () => {
        if (waiting[phase].delete(start)) tell()
      }
    },
    leave: () => {
      running -= 1
      places.onEnd(running)
      startFree()
    },
    get running() {
      return running
    },
    get waiting() {
      return all()
    },
    startFree,
  }
}
