// A text that is shown in windows as it grows: each begins with what was seen but is still held, and ends at white
// space if there is any (decision 20).
//
//   released   offset before which everything has left; it only grows
//   base       where windows begin: at a clean cut, or the hold-back before what has left
//   seen       where the last window ended
//   asked      the window that is being shown; the next one waits until it is answered and compared
//
// An answer moves released and base (settle), in order of preference: to a clean cut, a match away from every change;
// to a place that is known without comparing, the end of an earlier window; to a lesser cut, if much is held.
//
// A match may cross the end of a window although both texts look the same there. A window that begins there has another
// answer. Then the text that was seen before is shown again from there: its end became the same in both answers.

import { agreementAtEnd, type Sliced } from './align.js'
import { alignBetween, answerFrom, changesFrom, editsOf, type SeenAnswer } from './answer.js'
import { cleanCut, type Cut, isCertain, lesserCut, type Margins } from './cut.js'
import type { Due, HeldText, Release, WindowAnswer } from './held-text.js'
import { KnownPlaces, type Place, type Seen } from './known-places.js'
import { splitsPair } from './surrogates.js'

/** Number of unseen characters that make a window; where nothing changes, a window may have three times as many. */
export const WINDOW = 4096
/** Maximum number of characters seen and held; beyond it, a text that cannot be cut ends its stream. */
export const MOST_HELD = 16 * 1024
/** Maximum distance from the bound to the white space at which a window ends. */
const NEAR_BOUND = 64
/** Number of shorter windows that are tried before a text counts as one that cannot be cut. */
const MOST_PROBES = 8
/** Number of held characters beyond which a lesser cut is enough. */
const MUCH_HELD = 4096

/** holdBack: maximum length of a match, in characters. */
export const createWindowedText = (holdBack: number): HeldText => new WindowedText(holdBack)

class WindowedText implements HeldText {
  readonly others = []
  /** The text from base on: what the next window begins with, and what is unseen. */
  #text = ''
  #base = 0
  #released = 0
  /** Ends of the pieces that may not leave yet; each leaves whole. */
  #pieces: number[] = []
  #seen = 0
  #isEnded = false
  #asked: string | undefined
  /** Whether the asked window is a probe, which shows if a text can be cut at its end; probes since the last cut. */
  #isProbe = false
  #probes = 0
  #probed = 0
  /** Whether windows begin at the end of an earlier one, and no answer has begun as expected yet. */
  #isUnconfirmed = false
  /** Whether the text of the last answer is to be shown again, or is being shown again. */
  #isRepeat = false
  /** Whether windows begin at a place that no match crosses. */
  #beginsClean = true
  /** Whether the last answer left hardly anything held. */
  #isClean = false
  #needed: number
  readonly #places = new KnownPlaces()
  #last: SeenAnswer = { base: 0, original: '', changed: '', changes: [] }

  constructor(private readonly holdBack: number) {
    this.#needed = holdBack - 1
  }

  get length(): number {
    return this.#base + this.#text.length
  }

  get unseen(): number {
    return this.length - this.#seen
  }

  get isStuck(): boolean {
    return this.#asked === undefined && !this.#isRepeat && this.#isFull() && !this.#mayProbe()
  }

  push(more: string): undefined {
    this.#text += more
    if (more !== '') this.#pieces.push(this.length)
  }

  end(): Release | undefined {
    this.#isEnded = true
    return this.#asked === undefined && this.unseen === 0
      ? this.#release(this.#last.original.length)
      : undefined
  }

  due(): Due {
    if (this.#asked !== undefined || this.unseen === 0) return 'no'
    if (this.#isRepeat) return this.#isEnded ? 'at-once' : 'yes'
    if (this.#isFull()) return this.#mayProbe() ? 'at-once' : 'no'
    if (this.#isEnded || this.unseen >= WINDOW) return 'at-once'
    // Where cuts are rare, each window repeats much that was seen, so fewer windows are shown.
    if (this.unseen < (this.#seen - this.#base - 4 * this.holdBack) / 8) return 'no'
    const frees = (end: number): boolean => end > this.#seen && this.#couldFree(end)
    if (frees(this.#endOfNext())) return 'yes'
    return frees(this.length) ? 'in-word' : 'no'
  }

  take(): string | undefined {
    if (this.#asked !== undefined || this.unseen === 0) return undefined
    if (this.#isRepeat) return (this.#asked = this.#last.original)
    if (this.#isFull()) return this.#mayProbe() ? this.#takeProbe() : undefined
    const end = this.#endToTake()
    if (end <= this.#seen) return undefined
    this.#asked = this.#text.slice(0, end - this.#base)
    this.#seen = end
    return this.#asked
  }

  /** Returns the end of the next window, which is within a word only if that releases more text. */
  #endToTake(): number {
    const [atSpace, anywhere] = [this.#endOfNext(), this.#endOfNext(false)]
    const isMore = this.#couldFree(anywhere) && !this.#couldFree(atSpace)
    return isMore || atSpace <= this.#seen ? anywhere : atSpace
  }

  /** Whether the answer to a window that ends there could free the next piece. */
  #couldFree(end: number): boolean {
    return end - this.#needed >= (this.#pieces[0] ?? this.#released + 1)
  }

  /** Whether as much is held as is allowed. */
  #isFull(): boolean {
    return this.#seen > this.#released + MOST_HELD - NEAR_BOUND
  }

  /** Takes a window that ends at the white space before the last probe's end, with enough seen text after it. */
  #takeProbe(): string {
    this.#probed = endOfWindow(this.#text, this.#released - this.#base, this.#probeLimit(), true)
    this.#probes += 1
    this.#isProbe = true
    this.#asked = this.#text.slice(0, this.#probed)
    return this.#asked
  }

  #mayProbe(): boolean {
    return this.#probes < MOST_PROBES && this.#probeLimit() > this.#released - this.#base
  }

  #probeLimit(): number {
    if (this.#probes > 0) return this.#probed - 1
    const { original, changed } = this.#last
    // As many characters as are needed, also of the changed text, which may be much shorter.
    const behind = Math.ceil(this.holdBack * Math.max(1, original.length / (changed.length + 1)))
    return original.length - behind
  }

  *answered(answer: WindowAnswer): Sliced<Release | undefined> {
    if (this.#isRepeat) return yield* this.#repeatAnswered(answer)
    if (this.#isUnconfirmed && !this.#isConfirmedBy(answer)) return this.#repeat()
    this.#isUnconfirmed = false
    return this.#isProbe ? yield* this.#probeAnswered(answer) : yield* this.#windowAnswered(answer)
  }

  /** Whether the released text ends in this answer where it ended in the last one. */
  #isConfirmedBy({ content }: WindowAnswer): boolean {
    const place = this.#places.placeAt(this.#released - this.#base)
    return place !== undefined && this.#places.isConfirmedBy(content, place)
  }

  #repeat(): undefined {
    this.#asked = undefined
    this.#isProbe = false
    this.#isRepeat = true
    this.#seen = this.#base + this.#last.original.length
  }

  *#repeatAnswered({ content: changed }: WindowAnswer): Sliced<undefined> {
    const last = this.#last
    const places = this.#places
    places.moveTo(changed)
    const seen = { original: last.original, changed }
    this.#last = { ...last, changed, changes: yield* alignBetween(places.within(seen), seen) }
    this.#isUnconfirmed = false
    this.#isRepeat = false
    this.#asked = undefined
  }

  *#probeAnswered({ content }: WindowAnswer): Sliced<Release | undefined> {
    const last = this.#last
    const places = this.#places
    this.#isProbe = false
    if (last.changed.startsWith(content))
      places.addWithin({ original: this.#asked ?? '', changed: content })
    const known = this.#knownCut(last)
    this.#asked = undefined
    if (known === undefined) return undefined
    this.#last = { ...last, changes: yield* alignBetween(places.within(last), last) }
    return this.#cut(known, this.#beginningBefore(known))
  }

  *#windowAnswered({ content: changed, needed }: WindowAnswer): Sliced<Release | undefined> {
    const base = this.#base
    const places = this.#places
    const original = this.#asked ?? ''
    this.#needed = needed ?? this.holdBack - 1
    places.compare({ changed })
    const known = this.#knownCut({ original, changed })
    const changes = yield* alignBetween(places.within({ original, changed }), { original, changed })
    this.#last = { base, original, changed, changes }
    this.#asked = undefined
    return this.#settle(known)
  }

  #settle(known: Place | undefined): Release | undefined {
    const last = this.#last
    const base = this.#base
    const from = this.#released - base
    this.#places.addEnd(last)
    if (this.#isEnded && this.unseen === 0) return this.#release(last.original.length)
    const clean = cleanCut(last, from, this.#margins())
    this.#isClean = clean !== undefined && clean.at >= last.original.length - 2 * this.holdBack
    if (clean !== undefined && clean.at >= (known?.at ?? 0) && isCertain(last, clean.next)) {
      this.#beginsClean = true
      return this.#cut(clean, clean.next)
    }
    if (known !== undefined) return this.#cut(known, this.#beginningBefore(known))
    const held = this.#seen - this.#released
    const lesser = held > MUCH_HELD ? lesserCut(last, from, this.#margins()) : undefined
    if (lesser === undefined) return undefined
    // In a repetitive text the cut may correspond to another place in the answer. The released text is correct
    // nevertheless, as long as the next window begins with the same answer.
    const beginning = this.#beginningBefore(lesser)
    return this.#cut(lesser, lesser.at - beginning.at > MOST_HELD ? undefined : beginning)
  }

  #margins(): Margins {
    const { holdBack } = this
    const needed = this.#needed
    const beginsClean = this.#beginsClean
    return { holdBack, needed, beginning: beginsClean ? 0 : holdBack }
  }

  /** Returns the end of an earlier window after which enough has been seen. */
  #knownCut(seen: Seen): Place | undefined {
    const { original, changed } = seen
    const tail = Math.max(this.#needed, agreementAtEnd(original, changed, this.holdBack))
    const limit = { at: original.length - this.#needed, to: changed.length - tail }
    const place = this.#places.lastUpTo(limit)
    return place !== undefined && place.at > this.#released - this.#base ? place : undefined
  }

  #beginningBefore({ at, to }: Place): Place {
    const place = this.#places.lastUpTo({ at: at - this.holdBack, to: to - this.holdBack })
    if (place === undefined) return { at: 0, to: 0 }
    this.#beginsClean = false
    return place
  }

  /**
   * next: where the next windows begin; undefined: one hold-back before the cut, wherever that is in the answer. The
   * answer becomes unusable then, so the windows keep their beginning while probes may still need the answer.
   */
  #cut(cut: Cut, next: Place | undefined): Release {
    this.#probes = 0
    const freed = this.#release(cut.at)
    if (next === undefined && !this.#isFull()) {
      this.#beginsClean = false
      this.#places.clear()
      this.#beginAt(Math.max(0, cut.at - this.holdBack))
      return freed
    }
    if (this.#places.placeAt(cut.at) === undefined)
      this.#places.add({ at: cut.at, to: cut.to, isCut: true })
    if (next !== undefined) {
      this.#places.beginAt(next)
      this.#last = answerFrom(this.#last, next)
      this.#beginAt(next.at)
      this.#isUnconfirmed = !this.#beginsClean
    }
    return freed
  }

  /** at: an offset of the text from base on. */
  #beginAt(at: number): void {
    const from = splitsPair(this.#text, at) ? at - 1 : at
    this.#text = this.#text.slice(from)
    this.#base += from
  }

  /** at: an offset of the answer's text. */
  #release(at: number): Release {
    const edits = editsOf(this.#last, this.#released - this.#last.base, at)
    this.#released = this.#last.base + at
    const next = this.#pieces.findIndex((piece) => piece > this.#released)
    this.#pieces = next === -1 ? [] : this.#pieces.slice(next)
    return { upTo: this.#released, edits, ahead: changesFrom(this.#last, at) }
  }

  /** Returns where a window would end, in the whole text. */
  #endOfNext(isAtSpace = true): number {
    const most = Math.min(
      this.#seen + (this.#isClean ? 3 * WINDOW : WINDOW),
      this.#released + MOST_HELD,
      this.length,
    )
    if (this.#isEnded && most === this.length) return most
    return (
      this.#base + endOfWindow(this.#text, this.#seen - this.#base, most - this.#base, isAtSpace)
    )
  }
}

// Finds the end of a window of a text, so that a webhook does not take part of a word for a word.

/** How far back a place between two words is searched, in characters. */
const NEAR = 32

/** from: text before it has been seen. limit: the latest end of the window. isAtSpace: avoids ending in a word. */
function endOfWindow(text: string, from: number, limit: number, isAtSpace: boolean): number {
  for (const between of isAtSpace ? [/\s/, /[,;|、。，；！？]/] : [])
    for (let at = limit; at > from && at > limit - NEAR; at -= 1)
      if (between.test(text.charAt(at - 1))) return at
  const isHalf = limit === text.length && (text.charCodeAt(limit - 1) & 0xfc00) === 0xd800
  return isHalf || splitsPair(text, limit) ? limit - 1 : limit
}
