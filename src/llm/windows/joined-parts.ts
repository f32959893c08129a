// Parts of a text that may continue one another: joined to what came before them, and the changes that webhooks make of
// each, and of all together.

import type { Change, Sliced } from './align.js'
import { alignBetween } from './answer.js'
import type { TextEdit } from './held-text.js'
import { splitsPair } from './surrogates.js'

/** What one event says at the place of a text. */
export interface TextPart {
  readonly text: string
  /** Type of its event. */
  readonly type: string
  /** Offset in the whole text. */
  readonly start: number
  /** Whether it says the part before it again, perhaps with more: it continues nothing. */
  readonly isAgain: boolean
}

/** What came before some parts, with those. */
export interface Joined {
  readonly before: string
  readonly parts: readonly TextPart[]
  readonly text: string
}

/** Joins parts to what came before them; a part that says the one before it again begins anew. */
export function joinedTo(before: string, parts: readonly TextPart[]): readonly Joined[] {
  const all: { before: string; parts: TextPart[] }[] = [{ before, parts: [] }]
  for (const part of parts) {
    if (part.isAgain) all.push({ before: '', parts: [part] })
    else all.at(-1)?.parts.push(part)
  }
  return all
    .filter((one) => one.parts.length > (one.before === '' ? 1 : 0))
    .map((one) => ({ ...one, text: one.before + one.parts.map(({ text }) => text).join('') }))
}

/** Returns the edits that make one text of another. */
export function* editsTo(original: string, changed: string): Sliced<readonly TextEdit[]> {
  if (original === changed) return []
  const changes = yield* alignBetween([], { original, changed })
  return changes.map(({ start, end, from, to }) =>
    inside({ start, end, text: changed.slice(from, to) }, original),
  )
}

/** Makes an insertion at the end of a text a change of its last character: at its offset the next part begins. */
function inside(edit: TextEdit, original: string): TextEdit {
  const { start, end, text } = edit
  if (start !== end || end !== original.length || original === '') return edit
  const at = splitsPair(original, end - 1) ? end - 2 : end - 1
  return { start: at, end, text: original.slice(at) + text }
}

/**
 * Adds a change of a joined text to the edits of its parts. False: it begins in what has left, or it cannot be told how
 * it goes with what the parts' own answers change.
 */
export function isWritten(
  { start, end, from, to }: Change,
  changed: string,
  { before, parts, text: joined }: Joined,
  edits: ReadonlyMap<TextPart, TextEdit[]>,
): boolean {
  const isInsertion = start === end
  if (end < before.length || (end === before.length && !isInsertion)) return true
  if (start < before.length) return false
  let at = before.length
  let text = changed.slice(from, to)
  for (const part of parts) {
    const [first, last] = [at, at + part.text.length]
    at = last
    const isHere = isInsertion
      ? (start >= first && start < last) || (start === last && last === joined.length)
      : start < last && end > first
    if (!isHere) continue
    const range = { start: Math.max(start, first) - first, end: Math.min(end, last) - first }
    const isWithin = start >= first && end <= last
    const own = edits.get(part) ?? []
    if (!isAdded(inside({ ...range, text }, part.text), own, isWithin)) return false
    // The first part gets what the change says, the others lose their share of it.
    text = ''
  }
  return true
}

/**
 * edits: of the part, in order; likewise afterwards. The larger of two changes of one place counts. isWithin: the whole
 * change is in this part.
 */
function isAdded(edit: TextEdit, edits: TextEdit[], isWithin: boolean): boolean {
  const near = edits.filter((one) => touches(one, edit))
  if (isWithin && near.some((one) => one.start <= edit.start && one.end >= edit.end)) return true
  if (near.some((one) => one.start < edit.start || one.end > edit.end)) return false
  const others = edits.filter((one) => !near.includes(one))
  edits.splice(0, edits.length, ...others, edit)
  edits.sort((a, b) => a.start - b.start)
  return true
}

/** Whether two edits change, or insert at, the same characters. */
const touches = (one: TextEdit, other: TextEdit): boolean =>
  one.start === other.start || (one.start < other.end && other.start < one.end)

/** Returns a text with its edits. */
export function written(text: string, edits: readonly TextEdit[]): string {
  let [now, at] = ['', 0]
  for (const edit of edits) {
    now += text.slice(at, edit.start) + edit.text
    at = edit.end
  }
  return now + text.slice(at)
}

/** Returns edits with offsets that are larger by so much. */
export const movedBy = (edits: readonly TextEdit[], by: number): readonly TextEdit[] =>
  edits.map(({ start, end, text }) => ({ start: start + by, end: end + by, text }))
