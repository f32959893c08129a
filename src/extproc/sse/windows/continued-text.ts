// A text of a place of which nobody knows whether its events continue one another: each part is shown by itself and,
// once the place has said something before, joined to that (decision 20h). A part leaves when it has been seen, so that
// no event waits for the next one. What has left cannot be changed any more: a change that begins there ends the reply.

import { ownPart } from '../../../kit/own-text.js'
import type { Change, Sliced } from './align.js'
import { alignBetween } from './answer.js'
import type { Due, HeldText, Release, TextEdit, WindowAnswer } from './held-text.js'
import { splitsPair } from './surrogates.js'
import { WINDOW } from './windowed-text.js'

/**
 * Number of characters after which texts that are equal are taken to be one text said again, and not parts of one that
 * repeats itself.
 */
const CERTAIN = 16

/** Number of types of events whose texts are followed separately; the others continue the place's text alone. */
const MOST_TYPES = 64

/** How parts are joined. */
export interface ContinuedForm {
  /** Maximum length of a match, in characters. */
  readonly holdBack: number
  /** Counts more characters that are kept for comparison; false: too many. */
  readonly mayKeep: (length: number) => boolean
}

/** Creates an empty text. before: what was said before it, as it came. */
export const createContinuedText = (form: ContinuedForm, before = ''): HeldText =>
  new ContinuedText(form, before)

/** A part that has been answered. edits: with offsets of its own. */
interface Said extends Pick<TextPart, 'text' | 'type'> {
  readonly edits: readonly TextEdit[]
}

class ContinuedText implements HeldText {
  length = 0
  /** Number of characters of the parts that wait. */
  unseen = 0
  isStuck = false
  others: readonly string[] = []
  readonly #waiting: TextPart[] = []
  #asked: readonly TextPart[] = []
  /** What is being shown by itself, without repetitions. */
  #own: readonly string[] = []
  #joined: readonly Joined[] = []
  #isEnded = false
  #hasAsked = false
  /** The end of what has left, as it left: of all parts, and by the type of their events. */
  #before: string
  readonly #beforeOfType = new Map<string, string>()
  /** What came before as it came: what has become of it is asked about too. */
  #unanswered: readonly string[]
  #last: Said | undefined
  /** Number of characters, at the end of what has left, of unchanged parts equal to the last one. */
  #run = 0
  /** Length of the longest part that may be kept. */
  #longest = 0

  constructor(
    private readonly form: ContinuedForm,
    before: string,
  ) {
    this.#before = before
    this.#unanswered = before === '' ? [] : [before]
  }

  push(text: string, type = ''): Release | undefined {
    if (text === '') return undefined
    const start = this.length
    this.length += text.length
    const previous = this.#waiting.at(-1) ?? this.#asked.at(-1) ?? this.#last
    const isAgain =
      previous !== undefined &&
      previous.type === type &&
      previous.text.length >= CERTAIN &&
      text.startsWith(previous.text)
    if (this.#isKnown(text, type)) return this.#saidAgain(start)
    this.#waiting.push({ text, type, start, isAgain })
    this.unseen += text.length
    return undefined
  }

  end(): undefined {
    this.#isEnded = true
  }

  due(): Due {
    if (this.#asked.length > 0 || this.#waiting.length === 0 || this.isStuck) return 'no'
    return this.#isEnded || !this.#hasAsked || this.unseen >= WINDOW ? 'at-once' : 'yes'
  }

  take(): string | undefined {
    if (this.due() === 'no') return undefined
    this.#hasAsked = true
    this.#asked = this.#waiting.splice(0)
    this.unseen = 0
    this.#own = [...new Set(this.#asked.map(({ text }) => text)), ...this.#unanswered]
    this.#joined = [...joinedTo(this.#before, this.#asked), ...this.#joinedByType()]
    const [first, ...others] = [...this.#own, ...this.#joined.map(({ text }) => text)]
    this.others = others
    return first
  }

  *answered({ content, others = this.others }: WindowAnswer): Sliced<Release | undefined> {
    const asked = this.#asked
    const own = this.#own
    const joined = this.#joined
    const answers = [content, ...others]
    const became = new Map(own.map((text, index) => [text, answers[index] ?? text]))
    const changes = new Map<string, readonly TextEdit[]>()
    for (const [text, now] of became) changes.set(text, yield* editsTo(text, now))
    const edits = new Map(asked.map((part) => [part, [...(changes.get(part.text) ?? [])]]))
    for (const [index, one] of joined.entries()) {
      const changed = answers[own.length + index] ?? one.text
      const apart = [one.before, ...one.parts.map(({ text }) => text)]
      if (
        changed === one.text ||
        changed === apart.map((text) => became.get(text) ?? text).join('')
      )
        continue
      for (const change of yield* alignBetween([], { original: one.text, changed }))
        if (!isWritten(change, changed, one, edits)) {
          this.isStuck = true
          return undefined
        }
    }
    return this.#release(edits)
  }

  /** Whether a part that nothing waits for is as the one before it, and nothing new is to be seen across the two. */
  #isKnown(text: string, type: string): boolean {
    const last = this.#last
    if (this.#asked.length > 0 || this.#waiting.length > 0 || last === undefined) return false
    if (text !== last.text || type !== last.type) return false
    return text.length >= CERTAIN || this.#run >= this.form.holdBack + text.length
  }

  #saidAgain(start: number): Release {
    const { text = '', type = '', edits = [] } = this.#last ?? {}
    this.#note({ text, type, edits })
    return { upTo: start + text.length, edits: movedBy(edits, start) }
  }

  /** Where all that was said came with one type, it has been joined already. */
  #joinedByType(): readonly Joined[] {
    const types = new Map<string, TextPart[]>()
    for (const part of this.#asked) {
      const parts = types.get(part.type)
      if (parts === undefined) types.set(part.type, [part])
      else parts.push(part)
    }
    return [...types].flatMap(([type, parts]) => {
      const before = this.#beforeOfType.get(type) ?? ''
      return types.size === 1 && before === this.#before ? [] : joinedTo(before, parts)
    })
  }

  #release(edits: ReadonlyMap<TextPart, readonly TextEdit[]>): Release {
    const all: TextEdit[] = []
    let upTo = 0
    for (const [{ text, type, start }, own] of edits) {
      this.#note({ text, type, edits: own })
      all.push(...movedBy(own, start))
      upTo = start + text.length
    }
    this.#asked = []
    this.#joined = []
    this.others = []
    this.#unanswered = []
    return { upTo, edits: all }
  }

  /** Notes a part that leaves. */
  #note(part: Said): void {
    const { text, type, edits } = part
    const isSame = text === this.#last?.text && type === this.#last.type
    this.#run = edits.length > 0 ? 0 : text.length + (isSame ? this.#run : 0)
    this.#last = this.#isKept(text) ? part : undefined
    const left = written(text, edits)
    this.#before = this.#endOf(this.#before + left)
    if (this.#beforeOfType.has(type) || this.#isFollowed())
      this.#beforeOfType.set(type, this.#endOf((this.#beforeOfType.get(type) ?? '') + left))
  }

  #isKept({ length }: string): boolean {
    if (length <= this.#longest) return true
    if (!this.form.mayKeep(length - this.#longest)) return false
    this.#longest = length
    return true
  }

  /** Whether one more type is followed separately. */
  #isFollowed(): boolean {
    return this.#beforeOfType.size < MOST_TYPES && this.form.mayKeep(this.form.holdBack)
  }

  #endOf(text: string): string {
    const from = Math.max(0, text.length - this.form.holdBack)
    return ownPart(text.slice(splitsPair(text, from) ? from - 1 : from), text)
  }
}

// Parts of a text that may continue one another: joined to what came before them, and the changes that webhooks make of
// each, and of all together.

/** What one event says at the place of a text. */
interface TextPart {
  readonly text: string
  /** Type of its event. */
  readonly type: string
  /** Offset in the whole text. */
  readonly start: number
  /** Whether it says the part before it again, perhaps with more: it continues nothing. */
  readonly isAgain: boolean
}

/** What came before some parts, with those. */
interface Joined {
  readonly before: string
  readonly parts: readonly TextPart[]
  readonly text: string
}

/** Joins parts to what came before them; a part that says the one before it again begins anew. */
function joinedTo(before: string, parts: readonly TextPart[]): readonly Joined[] {
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
function* editsTo(original: string, changed: string): Sliced<readonly TextEdit[]> {
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
function isWritten(
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
function written(text: string, edits: readonly TextEdit[]): string {
  let [now, at] = ['', 0]
  for (const edit of edits) {
    now += text.slice(at, edit.start) + edit.text
    at = edit.end
  }
  return now + text.slice(at)
}

/** Returns edits with offsets that are larger by so much. */
const movedBy = (edits: readonly TextEdit[], by: number): readonly TextEdit[] =>
  edits.map(({ start, end, text }) => ({ start: start + by, end: end + by, text }))
