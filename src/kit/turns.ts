// Cooperative work: it is counted in units and done in slices between which other tasks run.

import type { Ending } from './ending.js'
import { TurnLine } from './turn-line.js'

/** Work that yields where other tasks may run. */
export type Work<T> = Generator<undefined, T, undefined>

/** A result, or the work towards it. Short work, which is most of it, returns a result and saves the generator. */
export type Soon<T> = T | Work<T>

/** Units of work in a slice: a few milliseconds. A JSON value is one unit. */
export const SLICE_UNITS = 4096

/** Characters per unit: they cost as much as looking at one JSON value. */
const UNIT_LENGTH = 256

/** Length of the pieces in which long texts are processed, in characters. */
export const PIECE = 64 * 1024

/** Splits a long text into pieces, never within a surrogate pair. */
export function piecesOf(text: string): Iterable<string> {
  if (text === '') return []
  return text.length <= PIECE ? [text] : longPiecesOf(text)
}

function* longPiecesOf(text: string): Generator<string> {
  for (let from = 0; from < text.length;) {
    const until = from + PIECE
    const isParted = /[\ud800-\udbff]/.test(text[until - 1] ?? '')
    const to = isParted ? until + 1 : until
    yield text.slice(from, to)
    from = to
  }
}

/** Returns the units of work for a text of this length. */
export const unitsOf = (characters: number): number => 1 + Math.floor(characters / UNIT_LENGTH)

/** Counts the units of one piece of work across all functions that take part in it. */
export class Pace {
  #units = 0

  /** Whether to yield before doing these units. */
  isDue(units = 1): boolean {
    const isDue = this.#units > 0 && this.#units + units > SLICE_UNITS
    this.#units = (isDue ? 0 : this.#units) + units
    return isDue
  }
}

/** Number of parts of a text that cost as much as looking at one JSON value. */
const PARTS = 16

/**
 * Replaces a character wherever it occurs, in slices. String.replaceAll() would build a string with a node for each match:
 * with millions of them it takes hundreds of megabytes, and whoever reads it first holds the thread for that long.
 */
export function* replaceInTurns(
  text: string,
  character: string,
  by: string,
  pace: Pace,
): Work<string> {
  if (!text.includes(character)) return text
  const pieces: string[] = []
  for (const piece of piecesOf(text)) {
    const parts = piece.split(character)
    if (pace.isDue(unitsOf(piece.length) + parts.length / PARTS)) yield
    pieces.push(parts.join(by))
  }
  return pieces.join('')
}

/** Joins texts in slices: joining hundreds of thousands of them at once takes tens of milliseconds. */
export function* joinTexts(texts: readonly string[], pace: Pace): Work<string> {
  const joined: string[] = []
  let [from, length, total] = [0, 0, 0]
  for (const [index, text] of texts.entries()) {
    length += text.length
    const count = index + 1 - from
    if (length < PIECE && count < SLICE_UNITS && index + 1 < texts.length) continue
    if (pace.isDue(unitsOf(length) + count / PARTS)) yield
    joined.push(texts.slice(from, index + 1).join(''))
    total += length
    from = index + 1
    length = 0
  }
  if (joined.length > 1 && pace.isDue(unitsOf(total))) yield
  return joined.join('')
}

/** Runs short work to the end without letting other tasks run. */
export function atOnce<T>(work: Work<T>): T {
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
  }
}

/** Decides at each yield whether the work goes on at once or lets other tasks run. */
export interface Slice {
  /** Called when the work begins, and when it goes on after other tasks have run. */
  begin(): void
  isOver(): boolean
}

/** A slice ends at each yield: the work counts its own units. */
const EVERY_YIELD: Slice = { begin: () => undefined, isOver: () => true }

/** Milliseconds in a slice of work that yields after each short step. */
const SLICE_MS = 4

/** Creates slices that end after a time, for work that yields after each short step. now: performance.now(). */
export function timedSlices(now: () => number, ms = SLICE_MS): Slice {
  let end = 0
  return { begin: () => void (end = now() + ms), isOver: () => now() >= end }
}

/**
 * Runs work in slices. Short work returns its result without a promise, unless others have taken the time of this turn;
 * undefined: signal ended the work.
 */
export function inTurns<T>(
  work: Work<T>,
  signal?: Ending,
  slice = EVERY_YIELD,
): T | undefined | Promise<T | undefined> {
  // Work with slices of its own is one at a time.
  const isAlone = slice !== EVERY_YIELD
  if (!isAlone && !line.hasRoom()) return goOn(work, signal, slice)
  const step = isAlone ? oneSlice(work, slice) : line.begin(() => oneSlice(work, slice))
  return step.done === true ? step.value : goOn(work, signal, slice)
}

/** Does the same for work of which most is so short that it begins with its result. */
export function soonInTurns<T>(
  begin: () => Soon<T>,
  signal?: Ending,
): T | undefined | Promise<T | undefined> {
  if (!line.hasRoom()) return goOn(whole(begin), signal, EVERY_YIELD)
  const step = line.begin(() => firstStep(begin()))
  return 'work' in step ? goOn(step.work, signal, EVERY_YIELD) : step.value
}

const isWork = <T>(soon: Soon<T>): soon is Work<T> =>
  typeof soon === 'object' && soon !== null && 'next' in soon && typeof soon.next === 'function'

function firstStep<T>(soon: Soon<T>): { readonly value: T } | { readonly work: Work<T> } {
  if (!isWork(soon)) return { value: soon }
  const step = oneSlice(soon, EVERY_YIELD)
  return step.done === true ? { value: step.value } : { work: soon }
}

function* whole<T>(begin: () => Soon<T>): Work<T> {
  const soon = begin()
  return isWork(soon) ? yield* soon : soon
}

/** Runs work to its end, in slices of a few milliseconds. */
export async function runInTurns<T>(work: Work<T>): Promise<T> {
  const slice = timedSlices(() => performance.now())
  for (;;) {
    const step = oneSlice(work, slice)
    if (step.done === true) return step.value
    await nextTurn()
  }
}

async function goOn<T>(
  work: Work<T>,
  signal: Ending | undefined,
  slice: Slice,
): Promise<T | undefined> {
  for (;;) {
    await nextTurn()
    if (signal?.aborted === true) return undefined
    const step = oneSlice(work, slice)
    if (step.done === true) return step.value
  }
}

function oneSlice<T>(work: Work<T>, slice: Slice): IteratorResult<undefined, T> {
  slice.begin()
  for (;;) {
    const step = work.next()
    if (step.done === true || slice.isOver()) return step
  }
}

/** A value, or a promise of it where something must be awaited. */
export type MaybePromise<T> = T | Promise<T>

/** Goes on with a value: at once, unless it is a promise, which most are not. */
export const andThen = <T, U>(
  value: T | Promise<T>,
  next: (value: T) => U | Promise<U>,
): U | Promise<U> => (value instanceof Promise ? value.then(next) : next(value))

/** Calls a function for each element, with a yield after each. */
export function* each<Element>(
  elements: Iterable<Element>,
  use: (element: Element) => void,
): Work<void> {
  for (const element of elements) {
    use(element)
    yield
  }
}

/** Returns the result of work for each element, in order. */
export function* mapWork<Element, Result>(
  elements: Iterable<Element>,
  work: (element: Element) => Work<Result>,
): Work<readonly Result[]> {
  const results: Result[] = []
  for (const element of elements) results.push(yield* work(element))
  return results
}

/** Returns the result of a function for each element, in order, with a yield after each. */
export function* mapEach<Element, Result>(
  elements: Iterable<Element>,
  compute: (element: Element) => Result,
): Work<readonly Result[]> {
  const results: Result[] = []
  for (const element of elements) {
    results.push(compute(element))
    yield
  }
  return results
}

/** All work of this thread. */
const line = new TurnLine(() => performance.now())

/** Resolves in a later turn of the event loop, which all that wait for one share. */
export const nextTurn = (): Promise<void> => line.wait()
