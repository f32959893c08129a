// The queue in front of a webhook: limits concurrent calls and lets replies go before prompts. A waiting reply delays a
// request that has already passed the webhook; a prompt is only about to begin.

import type { Phase } from '../../model/proc-entry.js'

/** Maximum waiting calls of one phase. */
export const MOST_WAITING = 4096

/** The queue of one webhook. */
export interface WebhookLine {
  /** Calls start once a place is free, perhaps immediately. Returns a function to leave, or undefined if full. */
  enter(phase: Phase, start: () => void): (() => void) | undefined
  /** Must be called when a started call has ended. */
  leave(): void
}

/** Limits of a queue whose places are shared by several processes. */
export interface SharedPlaces {
  /** Returns how many calls may run now. */
  most(): number
  /** Maximum waiting calls of one phase. */
  readonly mostWaiting: number
  /** Called when the number of waiting calls has changed. */
  onWaiting(waiting: number): void
  /** Called when a call has ended, before another one starts; running: the remaining calls. */
  onEnd(running: number): void
}

/** A queue whose places are shared with other processes. */
export interface SharedLine extends WebhookLine {
  /** Returns the number of calls that run. */
  running(): number
  /** Returns the number of calls that wait. */
  waiting(): number
  /** Starts waiting calls; must be called when places may have become free. */
  startFree(): void
}

/** Creates the queue of a single process. max: maximum concurrent calls; 0: no limit. */
export const createLine = (max: number): WebhookLine =>
  createSharedLine({
    most: () => (max === 0 ? Infinity : max),
    mostWaiting: MOST_WAITING,
    onWaiting: () => undefined,
    onEnd: () => undefined,
  })

/** Creates an empty queue. */
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
    // A call that fails as it starts calls leave(), and so this function, from within.
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
    running: () => running,
    waiting: all,
    startFree,
  }
}
