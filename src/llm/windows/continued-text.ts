// A text of a place of which nobody knows whether its events continue one another: each part is shown by itself and,
// once the place has said something before, joined to that (decision 20h). A part leaves when it has been seen, so that
// no event waits for the next one. What has left cannot be changed any more: a change that begins there ends the reply.

import { ownPart } from '../../own-text.js'
import type { Sliced } from './align.js'
import { alignBetween } from './answer.js'
import type { Due, HeldText, Release, TextEdit, WindowAnswer } from './held-text.js'
import {
  editsTo,
  isWritten,
  type Joined,
  joinedTo,
  movedBy,
  type TextPart,
  written,
} from './joined-parts.js'
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
  private readonly waiting: TextPart[] = []
  private asked: readonly TextPart[] = []
  /** What is being shown by itself, without repetitions. */
  private own: readonly string[] = []
  private joined: readonly Joined[] = []
  private isEnded = false
  private hasAsked = false
  /** The end of what has left, as it left: of all parts, and by the type of their events. */
  private before: string
  private readonly beforeOfType = new Map<string, string>()
  /** What came before as it came: what has become of it is asked about too. */
  private unanswered: readonly string[]
  private last: Said | undefined
  /** Number of characters, at the end of what has left, of unchanged parts equal to the last one. */
  private run = 0
  /** Length of the longest part that may be kept. */
  private longest = 0

  constructor(
    private readonly form: ContinuedForm,
    before: string,
  ) {
    this.before = before
    this.unanswered = before === '' ? [] : [before]
  }

  push(text: string, type = ''): Release | undefined {
    if (text === '') return undefined
    const start = this.length
    this.length += text.length
    const previous = this.waiting.at(-1) ?? this.asked.at(-1) ?? this.last
    const isAgain =
      previous !== undefined &&
      previous.type === type &&
      previous.text.length >= CERTAIN &&
      text.startsWith(previous.text)
    if (this.isKnown(text, type)) return this.saidAgain(start)
    this.waiting.push({ text, type, start, isAgain })
    this.unseen += text.length
    return undefined
  }

  end(): undefined {
    this.isEnded = true
  }

  due(): Due {
    if (this.asked.length > 0 || this.waiting.length === 0 || this.isStuck) return 'no'
    return this.isEnded || !this.hasAsked || this.unseen >= WINDOW ? 'at-once' : 'yes'
  }

  take(): string | undefined {
    if (this.due() === 'no') return undefined
    this.hasAsked = true
    this.asked = this.waiting.splice(0)
    this.unseen = 0
    this.own = [...new Set(this.asked.map(({ text }) => text)), ...this.unanswered]
    this.joined = [...joinedTo(this.before, this.asked), ...this.joinedByType()]
    const [first, ...others] = [...this.own, ...this.joined.map(({ text }) => text)]
    this.others = others
    return first
  }

  *answered({ content, others = this.others }: WindowAnswer): Sliced<Release | undefined> {
    const { asked, own, joined } = this
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
    return this.release(edits)
  }

  /** Whether a part that nothing waits for is as the one before it, and nothing new is to be seen across the two. */
  private isKnown(text: string, type: string): boolean {
    const { last } = this
    if (this.asked.length > 0 || this.waiting.length > 0 || last === undefined) return false
    if (text !== last.text || type !== last.type) return false
    return text.length >= CERTAIN || this.run >= this.form.holdBack + text.length
  }

  private saidAgain(start: number): Release {
    const { text = '', type = '', edits = [] } = this.last ?? {}
    this.note({ text, type, edits })
    return { upTo: start + text.length, edits: movedBy(edits, start) }
  }

  /** Where all that was said came with one type, it has been joined already. */
  private joinedByType(): readonly Joined[] {
    const types = new Map<string, TextPart[]>()
    for (const part of this.asked) {
      const parts = types.get(part.type)
      if (parts === undefined) types.set(part.type, [part])
      else parts.push(part)
    }
    return [...types].flatMap(([type, parts]) => {
      const before = this.beforeOfType.get(type) ?? ''
      return types.size === 1 && before === this.before ? [] : joinedTo(before, parts)
    })
  }

  private release(edits: ReadonlyMap<TextPart, readonly TextEdit[]>): Release {
    const all: TextEdit[] = []
    let upTo = 0
    for (const [{ text, type, start }, own] of edits) {
      this.note({ text, type, edits: own })
      all.push(...movedBy(own, start))
      upTo = start + text.length
    }
    this.asked = []
    this.joined = []
    this.others = []
    this.unanswered = []
    return { upTo, edits: all }
  }

  /** Notes a part that leaves. */
  private note(part: Said): void {
    const { text, type, edits } = part
    const isSame = text === this.last?.text && type === this.last.type
    this.run = edits.length > 0 ? 0 : text.length + (isSame ? this.run : 0)
    this.last = this.isKept(text) ? part : undefined
    const left = written(text, edits)
    this.before = this.endOf(this.before + left)
    if (this.beforeOfType.has(type) || this.isFollowed())
      this.beforeOfType.set(type, this.endOf((this.beforeOfType.get(type) ?? '') + left))
  }

  private isKept({ length }: string): boolean {
    if (length <= this.longest) return true
    if (!this.form.mayKeep(length - this.longest)) return false
    this.longest = length
    return true
  }

  /** Whether one more type is followed separately. */
  private isFollowed(): boolean {
    return this.beforeOfType.size < MOST_TYPES && this.form.mayKeep(this.form.holdBack)
  }

  private endOf(text: string): string {
    const from = Math.max(0, text.length - this.form.holdBack)
    return ownPart(text.slice(splitsPair(text, from) ? from - 1 : from), text)
  }
}
