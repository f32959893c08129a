// A fetch that waits for its turn among all others, and gets an earlier one when requests come to wait for it.

import type { Limit } from './limit.js'

/** A fetch that may not have begun. */
export interface FetchInTurn<T> {
  readonly result: Promise<T>
  /** Lets it begin among the urgent ones. Returns false if it has begun, or is urgent already. */
  hurry(): boolean
}

/** The turns of fetches that nobody waits for, and of those that requests wait for. */
export interface FetchTurns {
  readonly usual: Limit
  readonly urgent: Limit
}

/** Begins the task once, in the first turn that it gets. */
export function fetchInTurn<T>(
  task: () => Promise<T>,
  { usual, urgent }: FetchTurns,
  isUrgent: boolean,
): FetchInTurn<T> {
  let begun: Promise<T> | undefined
  let canHurry = !isUrgent
  // A second turn comes when the task may have ended long ago, and ends with it.
  const begin = (): Promise<T> => (begun ??= task())
  let takeTurn = (_: Limit): void => undefined
  const result = new Promise<T>((resolve, reject) => {
    takeTurn = (turns) => void turns(begin).then(resolve, reject)
  })
  takeTurn(isUrgent ? urgent : usual)
  return {
    result,
    hurry() {
      if (!canHurry || begun !== undefined) return false
      canHurry = false
      takeTurn(urgent)
      return true
    },
  }
}
