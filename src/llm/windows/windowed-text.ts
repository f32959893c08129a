// A text that is shown in windows as it comes: each begins with what was seen but is held, and ends at white space
// where there is some (decision 20).

import { align } from './align.js'
import { chooseCut, CONTEXT, type SeenText } from './cut.js'
import type { HeldText, Release, TextEdit } from './held-text.js'
import { endsInHalf, splitsPair } from './surrogates.js'

/** Unseen characters that make a window. */
const WINDOW = 1024
/** White space is looked for among so many last characters. */
const NEAR = 256
/** Where webhooks leave nothing as it was, more and more is held: beyond this, time alone makes no window. */
const MOST_FOR_TIME = 16 * 1024

interface Answer extends SeenText {
  /** Where it begins in the whole text. */
  readonly base: number
}

export function createWindowedText(): HeldText {
  /** From base on: what the next window begins with, and what is unseen. */
  let text = ''
  let base = 0
  let [released, seen] = [0, 0]
  let isEnded = false
  let asked: string | undefined
  let last: Answer = { base: 0, original: '', changed: '', changes: [] }

  const length = (): number => base + text.length
  const unseen = (): number => length() - seen
  const held = (): number => seen - released

  /** at: an offset of the answer's text. */
  const release = (at: number): Release => {
    const edits = editsOf(last, released - last.base, at)
    released = last.base + at
    return { upTo: released, edits, ahead: changesFrom(last, at) }
  }
  const settle = (): Release | undefined => {
    if (isEnded && unseen() === 0) return release(last.original.length)
    const cut = chooseCut(last, released - base)
    if (cut === undefined) return undefined
    const next = cut.isClean ? cut.at : Math.max(0, cut.at - CONTEXT)
    const from = splitsPair(text, next) ? next - 1 : next
    const freed = release(cut.at)
    text = text.slice(from)
    base += from
    return freed
  }
  return {
    get length() {
      return length()
    },
    get unseen() {
      return unseen()
    },
    push: (more) => {
      text += more
    },
    end: () => {
      isEnded = true
      return asked === undefined && unseen() === 0 ? settle() : undefined
    },
    isDue: () => unseen() > 0 && (isEnded || unseen() >= Math.max(WINDOW, held() / 4)),
    isTimed: () => unseen() > 0 && held() <= MOST_FOR_TIME,
    take: () => {
      if (asked !== undefined || unseen() === 0) return undefined
      const end = isEnded ? text.length : endOfWindow(text, seen - base)
      if (end <= seen - base) return undefined
      asked = text.slice(0, end)
      seen = base + end
      return asked
    },
    answered: (changed) => {
      const original = asked ?? ''
      asked = undefined
      last = { base, original, changed, changes: align(original, changed) }
      return settle()
    },
  }
}

/** from: what is before it has been seen. */
function endOfWindow(text: string, from: number): number {
  for (let at = text.length; at > from && at > text.length - NEAR; at -= 1)
    if (/\s/.test(text.charAt(at - 1))) return at
  return endsInHalf(text) ? text.length - 1 : text.length
}

/** from, to: offsets of the answer's text; of a change that begins before from, the rest is replaced. */
const editsOf = (
  { base, original, changed, changes }: Answer,
  from: number,
  to: number,
): readonly TextEdit[] =>
  changes
    .filter(({ start, end }) => end > from || start >= from)
    .filter(({ start }) => start < to || to === original.length)
    .map((change) => ({
      start: base + Math.max(change.start, from),
      end: base + change.end,
      text: changed.slice(change.from, change.to),
    }))

const changesFrom = ({ base, changes }: Answer, from: number): Release['ahead'] & object =>
  changes
    .filter(({ end }) => end >= from)
    .map(({ start, end }) => ({ start: base + start, end: base + end }))
