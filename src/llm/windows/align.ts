// A text and what a webhook made of it → the places where they differ. What surrounds a place decides alone how it is
// read, so that two windows read it alike; a shortest difference of the whole would not do that, nor end in time.

import { splitsPair } from './surrogates.js'

/** [start, end) of the original became [from, to) of the changed text; UTF-16 offsets. */
export interface Change {
  readonly start: number
  readonly end: number
  readonly from: number
  readonly to: number
}

/** Characters on which both must agree to end a change, but at the end of the text. */
const AGREEMENT = 16
/** How far behind the start of a change its end is looked for at first. */
const NEAR = 64

/** In their order; between them both texts agree. */
export function align(original: string, changed: string): readonly Change[] {
  const changes: Change[] = []
  let [at, now] = [0, 0]
  for (;;) {
    const same = agreementAtStart(original, at, changed, now)
    const [start, from] = [at + same, now + same]
    if (start === original.length && from === changed.length) return changes
    const { end, to } = endOfChange(original, start, changed, from)
    changes.push({ start, end, from, to })
    ;[at, now] = [end, to]
  }
}

function agreementAtStart(one: string, at: number, other: string, now: number): number {
  const most = Math.min(one.length - at, other.length - now)
  let length = 0
  while (length < most && one.charCodeAt(at + length) === other.charCodeAt(now + length))
    length += 1
  return splitsPair(one, at + length) || splitsPair(other, now + length) ? length - 1 : length
}

/** The nearest place behind the change from which on both agree again for a while; else where they agree to the end. */
function endOfChange(
  original: string,
  start: number,
  changed: string,
  from: number,
): Pick<Change, 'end' | 'to'> {
  const most = Math.max(original.length - start, changed.length - from)
  for (let reach = NEAR; ; reach *= 4) {
    const found = agreementWithin(original, start, changed, from, reach)
    if (found !== undefined) return found
    if (reach >= most) break
  }
  const length = agreementAtEnd(original.slice(start), changed.slice(from))
  return { end: original.length - length, to: changed.length - length }
}

function agreementWithin(
  original: string,
  start: number,
  changed: string,
  from: number,
  reach: number,
): Pick<Change, 'end' | 'to'> | undefined {
  const places = new Map<string, number>()
  for (let to = Math.min(from + reach, changed.length - AGREEMENT); to >= from; to -= 1)
    places.set(changed.slice(to, to + AGREEMENT), to)
  let nearest: Pick<Change, 'end' | 'to'> | undefined
  const distance = ({ end, to }: Pick<Change, 'end' | 'to'>): number => end - start + to - from
  const last = Math.min(start + reach, original.length - AGREEMENT)
  for (let end = start; end <= last; end += 1) {
    if (nearest !== undefined && end - start >= distance(nearest)) break
    const to = places.get(original.slice(end, end + AGREEMENT))
    if (to === undefined || splitsPair(original, end)) continue
    if (nearest === undefined || distance({ end, to }) < distance(nearest)) nearest = { end, to }
  }
  return nearest
}

function agreementAtEnd(one: string, other: string): number {
  const most = Math.min(one.length, other.length)
  const at = (text: string, back: number): number => text.charCodeAt(text.length - 1 - back)
  let length = 0
  while (length < most && at(one, length) === at(other, length)) length += 1
  return splitsPair(one, one.length - length) || splitsPair(other, other.length - length)
    ? length - 1
    : length
}
