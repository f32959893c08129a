// Work that holds nobody up: it is counted, and done in slices between which everybody else has a turn.

import type { Ending } from './ending.js'

/** Yields where others may have a turn. */
export type Work<T> = Generator<undefined, T, undefined>

/** What is short has its result at once: most of it is, and work has objects of its own. */
export type Soon<T> = T | Work<T>

/** Units of work that are done without a pause: a few milliseconds. One value of JSON is one. */
export const SLICE_UNITS = 4096

/** Characters that cost as much as looking at one value. */
const UNIT_LENGTH = 256

/** Long texts are worked through in pieces of so many characters. */
export const PIECE = 64 * 1024

/** A long text in pieces. No surrogate pair is parted. */
export function* piecesOf(text: string): Generator<string> {
  for (let from = 0; from < text.length;) {
    const until = from + PIECE
    const isParted = /[\ud800-\udbff]/.test(text[until - 1] ?? '')
    const to = isParted ? until + 1 : until
    yield text.slice(from, to)
    from = to
  }
}

export const unitsOf = (characters: number): number => 1 + Math.floor(characters / UNIT_LENGTH)

/** Counts the units of one piece of work, across all functions that have a part in it. */
export class Pace {
  private units = 0

  /** Whether others are to have a turn before these units are done. */
  isDue(units = 1): boolean {
    const isDue = this.units > 0 && this.units + units > SLICE_UNITS
    this.units = (isDue ? 0 : this.units) + units
    return isDue
  }
}

/** For what is short. */
export function atOnce<T>(work: Work<T>): T {
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
  }
}

/** No promise where it is short: nobody need wait for a turn then. undefined: signal has ended it. */
export function inTurns<T>(work: Work<T>, signal?: Ending): T | undefined | Promise<T | undefined> {
  const step = work.next()
  return step.done === true ? step.value : goOn(work, signal)
}

async function goOn<T>(work: Work<T>, signal: Ending | undefined): Promise<T | undefined> {
  for (;;) {
    await nextTurn()
    if (signal?.aborted === true) return undefined
    const step = work.next()
    if (step.done === true) return step.value
  }
}

export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
