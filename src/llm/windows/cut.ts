// Where a text that a webhook has seen may be cut: what is before the cut leaves, what is behind it is shown again
// with what comes (decision 20a).

import { agreementAtEnd, type Change } from './align.js'
import { splitsPair } from './surrogates.js'

/** Characters on which both texts agree on either side of a lesser cut. */
const AGREEMENT = 8
/** How far back white space is looked for. */
const NEAR = 64

export interface SeenText {
  readonly original: string
  readonly changed: string
  readonly changes: readonly Change[]
}

export interface Margins {
  /** Characters that a match may be long. */
  readonly holdBack: number
  /** Characters at the end that the webhooks still need: a match of which more is to come may begin there. */
  readonly needed: number
  /** How far from the beginning of the window a match cannot have begun before it. */
  readonly beginning: number
}

export interface Cut {
  /** An offset of the original; both texts agree there. */
  readonly at: number
  /** The same place in the changed text. */
  readonly to: number
}

export interface CleanCut extends Cut {
  /** No match lies across it either, and it is a better beginning for the next window: white space, where there is some. */
  readonly next: Cut
}

/** from: an offset of the original; what is before it has left. undefined: no place is a match away from every change. */
export function cleanCut(
  seen: SeenText,
  from: number,
  { holdBack, needed, beginning }: Margins,
): CleanCut | undefined {
  const { original } = seen
  for (const { start, end, shift } of agreements(seen).reverse()) {
    const low = start === 0 ? beginning : start + holdBack
    const high = Math.min(end === original.length ? end : end - holdBack, original.length - needed)
    const at = splitsPair(original, high) ? high - 1 : high
    if (at < Math.max(low, from + 1)) continue
    const next = afterSpace(original, at, low)
    return { at, to: at + shift, next: { at: next, to: next + shift } }
  }
  return undefined
}

/** The last place between two changes, however near they are, on which both texts agree all the same. */
export function lesserCut(seen: SeenText, from: number, { needed }: Margins): Cut | undefined {
  const { original, changed } = seen
  // The end of both is the same place, so nothing before it can be one that is behind it in the other.
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

function afterSpace(text: string, high: number, low: number): number {
  for (let at = high; at > low && at > high - NEAR; at -= 1)
    if (/\s/.test(text.charAt(at - 1))) return at
  return high
}

interface Stretch {
  readonly start: number
  readonly end: number
  /** How much further on it is in the changed text. */
  readonly shift: number
}

/** Where both texts agree beyond doubt, in their order. */
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
 * In "ha ha ha" any of the three may be the one that went, or that was put in: how far around the change it may as
 * well have been. between: where the texts agree around it.
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
