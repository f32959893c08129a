// Where a text that a webhook has seen may be cut: what is before the cut leaves, what is behind it is shown again
// with what comes (decision 20).

import type { Change } from './align.js'
import { splitsPair } from './surrogates.js'

/** Characters that a match may be long. */
export const CONTEXT = 256
/** Characters that are held for a clean cut before a lesser one will do. */
const HELD_LONG = 4096
/** Characters on which both texts agree on either side of a lesser cut. */
const AGREEMENT = 16
/** How far back white space is looked for. */
const NEAR = 256

export interface SeenText {
  readonly original: string
  readonly changed: string
  readonly changes: readonly Change[]
}

export interface Cut {
  /** An offset of the original; both texts agree there. */
  readonly at: number
  /** No match lies across it: the next window begins there. Across a lesser cut, two windows must see the match. */
  readonly isClean: boolean
}

/** from: an offset of the original; what is before it has left. undefined: nothing may leave yet. */
export function chooseCut(seen: SeenText, from: number): Cut | undefined {
  const stretches = agreements(seen).reverse()
  const last = (margin: number): number | undefined => {
    for (const stretch of stretches) {
      const at = cutWithin(seen.original, stretch, margin, from)
      if (at !== undefined) return at
    }
    return undefined
  }
  const clean = last(CONTEXT)
  if (clean !== undefined) return { at: clean, isClean: true }
  const lesser = seen.original.length - from > HELD_LONG ? last(AGREEMENT) : undefined
  return lesser === undefined ? undefined : { at: lesser, isClean: false }
}

interface Stretch {
  readonly start: number
  readonly end: number
}

/** The last place that is so far from the changes around the stretch and from what is not seen yet. */
function cutWithin(
  text: string,
  { start, end }: Stretch,
  margin: number,
  from: number,
): number | undefined {
  const low = Math.max(start === 0 ? 0 : start + margin, from + 1)
  const high = Math.min(end === text.length ? end : end - margin, text.length - CONTEXT)
  for (let at = high; at >= low && at > high - NEAR; at -= 1)
    if (/\s/.test(text.charAt(at - 1))) return at
  const at = splitsPair(text, high) ? high - 1 : high
  return at >= low ? at : undefined
}

/** Where both texts agree beyond doubt, in their order. */
function agreements(seen: SeenText): Stretch[] {
  const { original, changes } = seen
  const stretches: Stretch[] = []
  let start = 0
  changes.forEach((change, index) => {
    const left = changes[index - 1]?.end ?? 0
    const right = changes[index + 1]?.start ?? original.length
    const { before, after } = doubt(seen, change, { start: left, end: right })
    stretches.push({ start, end: change.start - before })
    start = change.end + after
  })
  stretches.push({ start, end: original.length })
  return stretches.filter(({ start: first, end }) => first < end)
}

/**
 * In "ha ha ha" any of the three may be the one that went, or that was put in: how far around the change it may as
 * well have been. between: where the texts agree around it.
 */
function doubt(
  { original, changed }: SeenText,
  { start, end, from, to }: Change,
  between: Stretch,
): { readonly before: number; readonly after: number } {
  let [before, after] = [0, 0]
  if (start < end && from < to) return { before, after }
  const [text, first, last] = start < end ? [original, start, end] : [changed, from, to]
  const isLike = (one: number, other: number): boolean =>
    text.charCodeAt(one) === text.charCodeAt(other)
  while (before < start - between.start && isLike(first - 1 - before, last - 1 - before))
    before += 1
  while (after < between.end - end && isLike(first + after, last + after)) after += 1
  return { before, after }
}
