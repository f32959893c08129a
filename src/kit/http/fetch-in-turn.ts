// A fetch that waits for its turn among all others, and gets an earlier one when requests come to wait for it.

import type { Limit } from './limit.js'

/** A fetch that may not have begun. */
export interface FetchInTurn<T> {
  readonly result: Promise<T>
  /** Lets it begin among the urgent ones. Returns false if it has begun, or is urgent already. */
  hurry(): boolean
}

/** The turns of fetches. */
export interface FetchTurns {
  /** Turns of those that nobody waits for. */
  readonly usual: Limit
  /** Turns of those that requests wait for. */
  readonly urgent: Limit
  /** Calls back once after ms milliseconds, unless the returned function is called before. */
  readonly startTimer: (callback: () => void, ms: number) => () => void
}

/** An urgent turn ends by then, as others have a second in all: many providers that hang would keep every turn. */
const URGENT_TURN_MS = 200

/** Begins the task once, in the first turn that it gets. */
export function fetchInTurn<T>(
  task: () => Promise<T>,
  { usual, urgent, startTimer }: FetchTurns,
  isUrgent: boolean,
): FetchInTurn<T> {
  let begun: Promise<T> | undefined
  let canHurry = !isUrgent
  let begin = (): Promise<unknown> => Promise.resolve()
  const result = new Promise<T>((resolve, reject) => {
    // A second turn comes when the task may have ended long ago, and ends with it.
    begin = () => {
      begun ??= task()
      return begun.then(resolve, reject)
    }
  })
  const takeUrgentTurn = (): void =>
    void urgent(
      () =>
        new Promise<void>((end) => {
          const cancel = startTimer(end, URGENT_TURN_MS)
          void begin().finally(() => {
            cancel()
            end()
          })
        }),
    )
  if (isUrgent) takeUrgentTurn()
  else void usual(begin)
  return {
    result,
    hurry() {
      if (!canHurry || begun !== undefined) return false
      canHurry = false
      takeUrgentTurn()
      return true
    },
  }
}
