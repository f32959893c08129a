// Finds the places where a text and a webhook's version of it differ, in slices of bounded work. How a place is read
// depends only on its surroundings, so two windows read it alike; a shortest difference of the whole would not do that.

import { splitsPair } from './surrogates.js'

/** [start, end) of the original became [from, to) of the changed text; UTF-16 offsets. */
export interface Change {
  readonly start: number
  readonly end: number
  readonly from: number
  readonly to: number
}

type End = Pick<Change, 'end' | 'to'>

/** Work in slices: it yields between them, so that others get the event loop, and returns its result. */
export type Sliced<T> = Generator<undefined, T, undefined>

/** Number of characters that must agree to end a change, except at the end of the text. */
const AGREEMENT = 16
/** Distance from the start of a change within which its end is searched at first. */
const NEAR = 64
/** Maximum such distance. What is longer is one change, up to where both texts agree to the end. */
const FAR = 32 * 1024
/** Number of places examined in one slice, which takes about a millisecond. */
export const ALIGN_SLICE = 4096

/** Returns the changes in order; between them both texts agree. */
export const align = (original: string, changed: string): Sliced<readonly Change[]> =>
  new Alignment(original, changed).changes()

class Alignment {
  /** Number of places examined. */
  #spent = 0

  constructor(
    private readonly original: string,
    private readonly changed: string,
  ) {}

  *changes(): Sliced<readonly Change[]> {
    const { original, changed } = this
    const changes: Change[] = []
    let [at, now] = [0, 0]
    for (;;) {
      const same = yield* this.#agreement(at, now)
      const [start, from] = [at + same, now + same]
      if (start === original.length && from === changed.length) return changes
      const { end, to } = yield* this.#endOfChange(start, from)
      changes.push({ start, end, from, to })
      at = end
      now = to
    }
  }

  /** Counts a place. True if the slice is over. */
  #isOver(): boolean {
    this.#spent += 1
    return this.#spent % ALIGN_SLICE === 0
  }

  *#agreement(at: number, now: number): Sliced<number> {
    const { original, changed } = this
    const most = Math.min(original.length - at, changed.length - now)
    let length = 0
    while (length < most && original.charCodeAt(at + length) === changed.charCodeAt(now + length)) {
      length += 1
      if (length % 8 === 0 && this.#isOver()) yield
    }
    return splitsPair(original, at + length) || splitsPair(changed, now + length)
      ? length - 1
      : length
  }

  /** Returns the nearest place after a change where both agree again for a while; else where they agree to the end. */
  *#endOfChange(start: number, from: number): Sliced<End> {
    const { original, changed } = this
    const most = Math.min(FAR, Math.max(original.length - start, changed.length - from))
    for (let reach = NEAR; ; reach *= 4) {
      const found = yield* this.#agreementWithin(start, from, Math.min(reach, FAR))
      if (found !== undefined) return found
      if (reach >= most) break
    }
    const length = agreementAtEnd(original.slice(start), changed.slice(from), Infinity)
    return { end: original.length - length, to: changed.length - length }
  }

  *#agreementWithin(start: number, from: number, reach: number): Sliced<End | undefined> {
    const { original, changed } = this
    const places = new Map<string, number>()
    for (let to = Math.min(from + reach, changed.length - AGREEMENT); to >= from; to -= 1) {
      places.set(changed.slice(to, to + AGREEMENT), to)
      if (this.#isOver()) yield
    }
    let nearest: End | undefined
    const distance = ({ end, to }: End): number => end - start + to - from
    const last = Math.min(start + reach, original.length - AGREEMENT)
    for (let end = start; end <= last; end += 1) {
      if (nearest !== undefined && end - start >= distance(nearest)) break
      if (this.#isOver()) yield
      const to = places.get(original.slice(end, end + AGREEMENT))
      if (to === undefined || splitsPair(original, end)) continue
      if (nearest === undefined || distance({ end, to }) < distance(nearest)) nearest = { end, to }
    }
    return nearest
  }
}

/** Returns how many of their last characters are equal, upTo at most. */
export function agreementAtEnd(one: string, other: string, upTo: number): number {
  const most = Math.min(one.length, other.length, upTo + 1)
  const at = (text: string, back: number): number => text.charCodeAt(text.length - 1 - back)
  let length = 0
  while (length < most && at(one, length) === at(other, length)) length += 1
  const isHalf = splitsPair(one, one.length - length) || splitsPair(other, other.length - length)
  return Math.min(upTo, isHalf ? length - 1 : length)
}
