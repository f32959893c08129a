// The webhooks' answer to a window: where it begins in the whole text, and what it changes.

import { ownPart } from '../../../kit/own-text.js'
import { align, type Change, type Sliced } from './align.js'
import type { SeenText } from './cut.js'
import type { Release, TextEdit } from './held-text.js'
import type { Place, Seen } from './known-places.js'

/** The answer to a window. */
export interface SeenAnswer extends SeenText {
  /** Offset of its start in the whole text. */
  readonly base: number
}

/** Returns the rest of the answer from a place that no change crosses. */
export const answerFrom = (
  { base, original, changed, changes }: SeenAnswer,
  { at, to }: Place,
): SeenAnswer => ({
  base: base + at,
  original: original.slice(at),
  changed: changed.slice(to),
  changes: changes
    .filter(({ start }) => start >= at)
    .map(({ start, end, from, to: last }) => ({
      start: start - at,
      end: end - at,
      from: from - to,
      to: last - to,
    })),
})

/** Compares the texts between places that are known to be the same in both. */
export function* alignBetween(
  places: readonly Place[],
  { original, changed }: Seen,
): Sliced<readonly Change[]> {
  const changes: Change[] = []
  let { at, to }: Place = { at: 0, to: 0 }
  for (const next of [...places, { at: original.length, to: changed.length }]) {
    const [first, now] = [at, to]
    const part = yield* align(original.slice(first, next.at), changed.slice(now, next.to))
    for (const { start, end, from, to: last } of part)
      changes.push({ start: first + start, end: first + end, from: now + from, to: now + last })
    at = next.at
    to = next.to
  }
  return changes
}

/** from, to: offsets of the answer's text. A change that begins before from replaces what is left of its range. */
export const editsOf = (
  { base, original, changed, changes }: SeenAnswer,
  from: number,
  to: number,
): readonly TextEdit[] =>
  changes
    .filter(({ start, end }) => end > from || start >= from)
    .filter(({ start }) => start < to || to === original.length)
    .map((change) => ({
      start: base + Math.max(change.start, from),
      end: base + change.end,
      text: ownPart(changed.slice(change.from, change.to), changed),
    }))

/** Returns the changes after a place, with offsets in the whole text. */
export const changesFrom = (
  { base, changes }: SeenAnswer,
  from: number,
): Release['ahead'] & object =>
  changes
    .filter(({ end }) => end >= from)
    .map(({ start, end }) => ({ start: base + start, end: base + end }))
