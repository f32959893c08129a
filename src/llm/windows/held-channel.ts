// One channel of a streamed reply while it is held: what of it is free to leave, and what that has become.

import type { Piece } from '../text/stream-event.js'
import type { Sliced } from './align.js'
import type { HeldText, Release, TextEdit, WindowAnswer } from './held-text.js'
import { createWholeText } from './whole-text.js'
import { createWindowedText } from './windowed-text.js'

export type Speaker = Pick<Piece, 'kind' | 'role' | 'form' | 'isJson'>

export interface HeldChannel {
  readonly speaker: Speaker
  /** What is to be shown of it. push, end and answered are the channel's. */
  readonly text: Pick<HeldText, 'length' | 'unseen' | 'due' | 'take' | 'isStuck'>
  push(text: string): void
  end(): void
  /** What webhooks say of the text that was taken. */
  answered(answer: WindowAnswer): Sliced<void>
  /** Whether everything before this offset may leave. */
  isFree(upTo: number): boolean
  /** Nothing more comes. */
  readonly isEnded: boolean
  /** Nothing more comes, and all may leave. */
  isDone(): boolean
  /** What a part of the text that is free has become; once for each, unless all that was said is kept. */
  leave(start: number, part: string): string
  /** Whether something changes there, or so near that log probabilities could say it. */
  isNearChange(start: number, end: number): boolean
  /** What was said so far: it may be said again. undefined: it is too much to be kept. */
  readonly said: string | undefined
}

export interface ChannelForm {
  /** Characters that a match may be long. */
  readonly holdBack: number
  /** Shown once, when all of it is there; otherwise in windows, as it comes. */
  readonly isWhole: boolean
  /** Whether so many more characters of it may be kept for being said again. */
  readonly mayKeep: (length: number) => boolean
}

export function createHeldChannel(
  speaker: Speaker,
  { holdBack, isWhole, mayKeep }: ChannelForm,
): HeldChannel {
  const text = isWhole ? createWholeText() : createWindowedText(holdBack)
  let said: string | undefined = ''
  let free = 0
  let isEnded = false
  let edits: TextEdit[] = []
  let ahead: Release['ahead'] = []
  const add = (release: Release | undefined): void => {
    if (release === undefined) return
    free = release.upTo
    ahead = release.ahead
    for (const edit of release.edits) edits.push(edit)
  }
  return {
    speaker,
    text,
    push: (more) => {
      text.push(more)
      said = said !== undefined && mayKeep(more.length) ? said + more : undefined
    },
    end: () => {
      isEnded = true
      add(text.end())
    },
    *answered(answer) {
      add(yield* text.answered(answer))
    },
    get isEnded() {
      return isEnded
    },
    isFree: (upTo) => upTo <= free,
    isDone: () => isEnded && free === text.length,
    leave: (start, part) => {
      const upTo = start + part.length
      const now = edited(part, start, edits, isEnded && upTo === text.length)
      if (said === undefined) edits = edits.filter((edit) => edit.end + holdBack >= upTo)
      return now
    },
    isNearChange: (start, end) =>
      [edits, ahead ?? []].some((changes) => {
        const near = changes[firstEndingAt(changes, start - holdBack)]
        return near !== undefined && near.start <= end + holdBack
      }),
    get said() {
      return said
    },
  }
}

/**
 * start: where the part begins in the text that the edits are of. What is put in stands where its edit begins; at the
 * very end, in the last part.
 */
function edited(part: string, start: number, edits: readonly TextEdit[], isLast: boolean): string {
  const pieces: string[] = []
  let at = 0
  for (let index = firstEndingAt(edits, start); index < edits.length; index += 1) {
    const edit = edits[index]
    if (edit === undefined || edit.start > start + part.length) break
    const [from, to] = [edit.start - start, edit.end - start]
    const begins = from >= 0 && (from < part.length || (isLast && part !== ''))
    if (!begins && (to <= 0 || from >= part.length)) continue
    pieces.push(part.slice(at, Math.max(from, 0)), begins ? edit.text : '')
    at = Math.max(at, Math.min(to, part.length))
  }
  return pieces.join('') + part.slice(at)
}

/** edits: in their order; none overlaps another. The index of the first that ends there or behind it. */
function firstEndingAt(edits: readonly Pick<TextEdit, 'end'>[], at: number): number {
  let [low, high] = [0, edits.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((edits[middle]?.end ?? 0) < at) low = middle + 1
    else high = middle
  }
  return low
}
