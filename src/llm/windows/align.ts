// A text and what a webhook made of it → the places where they differ, in slices of bounded work. What surrounds a place
// decides alone how it is read, so that two windows read it alike; a shortest difference of the whole would not do that.

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

/** Characters on which both must agree to end a change, but at the end of the text. */
const AGREEMENT = 16
/** How far behind the start of a change its end is looked for at first. */
const NEAR = 64
/** And at last: what is longer is one change up to where both agree to the end. */
const FAR = 32 * 1024
/** Places that are looked at in one slice: about a millisecond. */
export const ALIGN_SLICE = 4096

/** In their order; between them both texts agree. */
export const align = (original: string, changed: string): Sliced<readonly Change[]> =>
  new Alignment(original, changed).changes()

class Alignment {
  /** Places that were looked at. */
  private spent = 0

  constructor(
    private readonly original: string,
    private readonly changed: string,
  ) {}

  *changes(): Sliced<readonly Change[]> {
    const { original, changed } = this
    const changes: Change[] = []
    let [at, now] = [0, 0]
    for (;;) {
      const same = yield* this.agreement(at, now)
      const [start, from] = [at + same, now + same]
      if (start === original.length && from === changed.length) return changes
      const { end, to } = yield* this.endOfChange(start, from)
      changes.push({ start, end, from, to })
      at = end
      now = to
    }
  }

  /** Whether a slice is over. */
  private isOver(): boolean {
    this.spent += 1
    return this.spent % ALIGN_SLICE === 0
  }

  private *agreement(at: number, now: number): Sliced<number> {
    const { original, changed } = this
    const most = Math.min(original.length - at, changed.length - now)
    let length = 0
    while (length < most && original.charCodeAt(at + length) === changed.charCodeAt(now + length)) {
      length += 1
      if (length % 8 === 0 && this.isOver()) yield
    }
    return splitsPair(original, at + length) || splitsPair(changed, now + length)
      ? length - 1
      : length
  }

  /** The nearest place behind the change from which on both agree again for a while; else where they agree to the end. */
  private *endOfChange(start: number, from: number): Sliced<End> {
    const { original, changed } = this
    const most = Math.min(FAR, Math.max(original.length - start, changed.length - from))
    for (let reach = NEAR; ; reach *= 4) {
      const found = yield* this.agreementWithin(start, from, Math.min(reach, FAR))
      if (found !== undefined) return found
      if (reach >= most) break
    }
    const length = agreementAtEnd(original.slice(start), changed.slice(from), Infinity)
    return { end: original.length - length, to: changed.length - length }
  }

  private *agreementWithin(start: number, from: number, reach: number): Sliced<End | undefined> {
    const { original, changed } = this
    const places = new Map<string, number>()
    for (let to = Math.min(from + reach, changed.length - AGREEMENT); to >= from; to -= 1) {
      places.set(changed.slice(to, to + AGREEMENT), to)
      if (this.isOver()) yield
    }
    let nearest: End | undefined
    const distance = ({ end, to }: End): number => end - start + to - from
    const last = Math.min(start + reach, original.length - AGREEMENT)
    for (let end = start; end <= last; end += 1) {
      if (nearest !== undefined && end - start >= distance(nearest)) break
      if (this.isOver()) yield
      const to = places.get(original.slice(end, end + AGREEMENT))
      if (to === undefined || splitsPair(original, end)) continue
      if (nearest === undefined || distance({ end, to }) < distance(nearest)) nearest = { end, to }
    }
    return nearest
  }
}

/** How many of their last characters are the same, up to that many. */
export function agreementAtEnd(one: string, other: string, upTo: number): number {
  const most = Math.min(one.length, other.length, upTo + 1)
  const at = (text: string, back: number): number => text.charCodeAt(text.length - 1 - back)
  let length = 0
  while (length < most && at(one, length) === at(other, length)) length += 1
  const isHalf = splitsPair(one, one.length - length) || splitsPair(other, other.length - length)
  return Math.min(upTo, isHalf ? length - 1 : length)
}
