// Finds where a text that a webhook has seen may be cut: text before the cut leaves, text after it is shown again with
// what follows (decision 20a).

import { agreementAtEnd, type Change } from './align.js'
import { splitsPair } from './surrogates.js'

/** Number of characters on either side of a lesser cut on which both texts must agree. */
const AGREEMENT = 8
/** Minimum distance of a clean cut from every change, in characters. */
const CLEAN = 16
/** How far back white space is searched, in characters. */
const NEAR = 64
/** Maximum length of a change that cannot contain a misread repetition, in characters. */
const SHORT = 512

/** A text that a webhook has seen, and the webhook's changes. */
export interface SeenText {
  readonly original: string
  readonly changed: string
  readonly changes: readonly Change[]
}

/** How far from a match a text may be cut. */
export interface Margins {
  /** Maximum length of a match, in characters. */
  readonly holdBack: number
  /** Characters at the end that the webhooks still need, as an unfinished match may begin there. */
  readonly needed: number
  /** Offset in the window from which on no match can have begun before the window. */
  readonly beginning: number
}

/** A place where a text may be cut. */
export interface Cut {
  /** An offset of the original; both texts agree there. */
  readonly at: number
  /** The same place in the changed text. */
  readonly to: number
}

/** A cut that no match crosses. */
export interface CleanCut extends Cut {
  /** A better start of the next window, which no match crosses either: after white space, if there is any. */
  readonly next: Cut
}

/** from: an offset of the original; text before it has left. undefined: no place is a match away from every change. */
export function cleanCut(
  seen: SeenText,
  from: number,
  { holdBack, needed, beginning }: Margins,
): CleanCut | undefined {
  const { original } = seen
  // What was written for a change may by chance begin or end as the text beside it does.
  const apart = Math.max(holdBack, CLEAN)
  for (const { start, end, shift } of agreements(seen).reverse()) {
    const low = start === 0 ? beginning : start + apart
    const high = Math.min(end === original.length ? end : end - apart, original.length - needed)
    const at = splitsPair(original, high) ? high - 1 : high
    if (at < Math.max(low, from + 1)) continue
    const next = afterSpace(original, at, low)
    return { at, to: at + shift, next: { at: next, to: next + shift } }
  }
  return undefined
}

/** Returns the last place between two changes, however near they are, on which both texts still agree. */
export function lesserCut(seen: SeenText, from: number, { needed }: Margins): Cut | undefined {
  const { original, changed } = seen
  // The ends of both texts correspond, so a place before the end of one cannot be behind the end of the other.
  const tail = agreementAtEnd(original, changed, needed)
  for (const { start, end, shift } of agreements(seen).reverse()) {
    const low = Math.max(start + AGREEMENT, from + 1)
    const high = Math.min(end - AGREEMENT, original.length - needed)
    const found = high < low ? high : Math.max(low, afterSpace(original, high, low))
    const at = splitsPair(original, found) ? found - 1 : found
    if (at >= low && at + shift <= changed.length - tail) return { at, to: at + shift }
  }
  return undefined
}

/**
 * Whether the position of the cut in the changed text is unambiguous: all changes before it are short, or the text around it
 * occurs only once in both texts.
 */
export function isCertain({ original, changed, changes }: SeenText, { at, to }: Cut): boolean {
  const earlier = changes.filter(({ end }) => end <= at)
  const isLong = ({ start, end, from, to: until }: Change): boolean =>
    Math.max(end - start, until - from) > SHORT
  if (!earlier.some(isLong)) return true
  const before = Math.min(NEAR, at - (earlier.at(-1)?.end ?? 0))
  const next = changes[earlier.length]?.start ?? original.length
  const around = original.slice(at - before, Math.min(next, at + NEAR))
  const isOnlyAt = (text: string, place: number): boolean =>
    text.indexOf(around) === place && text.lastIndexOf(around) === place
  return isOnlyAt(original, at - before) && isOnlyAt(changed, to - before)
}

function afterSpace(text: string, high: number, low: number): number {
  for (let at = high; at > low && at > high - NEAR; at -= 1)
    if (/\s/.test(text.charAt(at - 1))) return at
  return high
}

interface Stretch {
  readonly start: number
  readonly end: number
  /** Offset in the changed text, minus the offset in the original. */
  readonly shift: number
}

/** Returns where both texts agree beyond doubt, in order. */
function agreements(seen: SeenText): Stretch[] {
  const { original, changes } = seen
  const stretches: Stretch[] = []
  let [start, shift] = [0, 0]
  changes.forEach((change, index) => {
    const left = changes[index - 1]?.end ?? 0
    const right = changes[index + 1]?.start ?? original.length
    const { before, after } = doubt(seen, change, { start: left, end: right })
    stretches.push({ start, end: change.start - before, shift })
    start = change.end + after
    shift = change.to - change.end
  })
  stretches.push({ start, end: original.length, shift })
  return stretches.filter(({ start: first, end }) => first < end)
}

/**
 * Returns how far around a change it may as well have been: in "ha ha ha", any of the three may be the one that was
 * removed or inserted. between: where the texts agree around it.
 */
function doubt(
  { original, changed }: SeenText,
  { start, end, from, to }: Change,
  between: Pick<Stretch, 'start' | 'end'>,
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
