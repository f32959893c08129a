// Holds one channel of a streamed reply: which part of its text is free to leave, and what that has become.

import { firstWhere } from '../../llm/text/first-where.js'
import type { Piece } from '../../llm/text/stream-event.js'
import type { Sliced } from './align.js'
import { createContinuedText } from './continued-text.js'
import type { HeldText, Release, TextEdit, WindowAnswer } from './held-text.js'
import { createWindowedText } from './windowed-text.js'

/** Who says the text of a channel, and in what form. */
export type Speaker = Pick<Piece, 'kind' | 'role' | 'form' | 'isJson'>

/** One channel of a reply while it is held. */
export interface HeldChannel {
  readonly speaker: Speaker
  /** The text to be shown; its push, end and answered are called only by the channel. */
  readonly text: Pick<HeldText, 'length' | 'unseen' | 'due' | 'take' | 'others' | 'isStuck'>
  /** type: that of the event. */
  push(text: string, type?: string): void
  end(): void
  /** Applies the webhooks' answer about the text that was taken. */
  answered(answer: WindowAnswer): Sliced<void>
  /** Whether everything before this offset may leave. */
  isFree(upTo: number): boolean
  /** Whether nothing more comes. */
  readonly isEnded: boolean
  /** Whether nothing more comes, and all may leave. */
  isDone(): boolean
  /** Returns what a free part of the text has become. Only once for each part, unless the whole text is kept. */
  leave(start: number, part: string): string
  /** Whether something changes in this range, or so near that log probabilities could repeat it. */
  isNearChange(start: number, end: number): boolean
  /** Whether anything has changed. */
  readonly isChanged: boolean
  /** The text received so far, kept in case it is repeated; undefined: it is too long to be kept. */
  readonly received: string | undefined
}

/** How the text of a channel is shown and held. */
export interface ChannelForm {
  /** Maximum length of a match, in characters. */
  readonly holdBack: number
  /**
   * windows: as it grows. whole: once, when it is complete. continued: each part, by itself and joined to what came
   * before it.
   */
  readonly shown: 'windows' | 'whole' | 'continued'
  /** Counts more characters that are kept in case of repeats; false: too many. */
  readonly mayKeep: (length: number) => boolean
  /** What was said before a text that is continued. */
  readonly before?: string
}

/** Creates an empty channel. */
export const createHeldChannel = (speaker: Speaker, form: ChannelForm): HeldChannel =>
  new Channel(speaker, form)

function textOf(form: ChannelForm): HeldText {
  switch (form.shown) {
    case 'windows':
      return createWindowedText(form.holdBack)
    case 'whole':
      return createWholeText()
    case 'continued':
      return createContinuedText(form, form.before)
  }
}

/** A class, because every streamed reply makes some, and a getter in an object literal is slow to create. */
class Channel implements HeldChannel {
  readonly text: HeldText
  isEnded = false
  isChanged = false
  received: string | undefined = ''
  #free = 0
  #edits: TextEdit[] = []
  #ahead: Release['ahead'] = []

  constructor(
    readonly speaker: Speaker,
    private readonly form: ChannelForm,
  ) {
    this.text = textOf(form)
    if (form.shown === 'continued') this.received = undefined
  }

  push(more: string, type?: string): void {
    this.#add(this.text.push(more, type))
    this.received =
      this.received !== undefined && this.form.mayKeep(more.length)
        ? this.received + more
        : undefined
  }

  end(): void {
    this.isEnded = true
    this.#add(this.text.end())
  }

  *answered(answer: WindowAnswer): Sliced<void> {
    this.#add(yield* this.text.answered(answer))
  }

  isFree(upTo: number): boolean {
    return upTo <= this.#free
  }

  isDone(): boolean {
    return this.isEnded && this.#free === this.text.length
  }

  leave(start: number, part: string): string {
    const upTo = start + part.length
    const now = edited(part, start, this.#edits, this.isEnded && upTo === this.text.length)
    if (this.received === undefined)
      this.#edits = this.#edits.filter((edit) => edit.end + this.form.holdBack >= upTo)
    return now
  }

  isNearChange(start: number, end: number): boolean {
    const { holdBack } = this.form
    return [this.#edits, this.#ahead ?? []].some((changes) => {
      const near = changes[firstEndingAt(changes, start - holdBack)]
      return near !== undefined && near.start <= end + holdBack
    })
  }

  #add(release: Release | undefined): void {
    if (release === undefined) return
    this.#free = release.upTo
    this.#ahead = release.ahead
    for (const edit of release.edits) this.#edits.push(edit)
    this.isChanged ||= release.edits.length > 0
  }
}

/**
 * Applies the edits to a part. start: the part's offset in the text that the edits refer to. An insertion is made where
 * its edit begins; at the very end, in the last part.
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

/** edits: in order, without overlaps. Returns the index of the first that ends at this offset or after it. */
const firstEndingAt = (edits: readonly Pick<TextEdit, 'end'>[], at: number): number =>
  firstWhere(edits, ({ end }) => end >= at)

// A text that is shown once, when it is complete: the arguments of a tool call (decision 19a).

/** Creates a text that is shown once, when it is complete. */
const createWholeText = (): HeldText => new WholeText()

class WholeText implements HeldText {
  readonly isStuck = false
  readonly others = []
  #text = ''
  #state: 'comes' | 'ended' | 'asked' = 'comes'

  get length(): number {
    return this.#text.length
  }

  get unseen(): number {
    return this.#state === 'asked' ? 0 : this.#text.length
  }

  push(more: string): undefined {
    this.#text += more
  }

  end(): Release | undefined {
    if (this.#state === 'comes') this.#state = 'ended'
    return this.#text === '' ? this.#all([]) : undefined
  }

  due(): 'at-once' | 'no' {
    return this.#isUnseen() ? 'at-once' : 'no'
  }

  take(): string | undefined {
    if (!this.#isUnseen()) return undefined
    this.#state = 'asked'
    return this.#text
  }

  *answered({ content }: WindowAnswer): Sliced<Release> {
    const text = this.#text
    return this.#all(content === text ? [] : [{ start: 0, end: text.length, text: content }])
  }

  #all(edits: Release['edits']): Release {
    return { upTo: this.#text.length, edits }
  }

  #isUnseen(): boolean {
    return this.#state === 'ended' && this.#text !== ''
  }
}
