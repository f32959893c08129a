// Keeps the texts of a streamed reply by channel, and adds what events say to the text that it belongs to. Where nobody
// knows what an event continues, it continues what came before it at the same place (decision 20h).

import type { LlmApi } from '../../llm/text/api.js'
import { type CallNames, isAnotherCall } from '../../llm/text/calls.js'
import { channelPlace, isPlaceWithin } from '../../llm/text/channels.js'
import type { EntryKind } from '../../llm/text/conversation.js'
import { endedBy, type Piece, type Repeat, type StreamEvent } from '../../llm/text/stream-event.js'
import { type ChannelForm, createHeldChannel, type HeldChannel } from './held-channel.js'
import { endOf, SaidBefore } from './said-before.js'

/** How the texts of a reply are shown and held. */
export interface ReplyForm {
  /** The kinds of texts that are shown; the others pass. */
  readonly shows: ReadonlySet<EntryKind>
  /** Maximum length of a match, in characters. */
  readonly holdBack: number
  /** Maximum number of UTF-16 units that are held. */
  readonly maxSize: number
  /** Whether the signature of a text that has changed may not leave, not even emptied. */
  readonly refusesSigned?: boolean
}

/** A place of an event, and the text that it is a part of. */
export interface PlacedPiece {
  readonly piece: Piece | Repeat
  readonly channel: HeldChannel
  /** Offset of the place in the text. */
  readonly start: number
  /** Parts of texts, each shown with what its place has said before it. */
  readonly joined?: readonly HeldChannel[]
}

/** Whether a piece is of no call, or all of its call may leave. */
export const isWholeIfCall = (wait: PlacedPiece | undefined): boolean =>
  wait?.piece.kind !== 'tool-call' || wait.channel.isDone()

/** Whether a piece may leave. wait: undefined if it is not shown. */
export function isFreePiece(wait: PlacedPiece | undefined): boolean {
  if (wait === undefined) return true
  const { piece, channel, start, joined } = wait
  if (joined?.every((one) => one.isDone()) === false) return false
  return channel.isFree(start + piece.text.length + (piece.isAhead ? 1 : 0)) || channel.isDone()
}

/** Maximum number of channels that are open at once. */
export const MOST_CHANNELS = 1024

const NONE: ReadonlySet<string> = new Set()

/** What one place has said that repeats other texts, or may. */
interface Repeated {
  /** The end of it, as it came. */
  said: string
  /** Number of characters of all of it. */
  length: number
  /** The index that said it first. */
  index?: string
  /** What repeats no other text: nobody knows whether it continues. */
  own?: HeldChannel
  /** Whether something has been said since that repeats another text. */
  isMirror: boolean
}

/** The place of a channel. within: with the first index, if several texts may have both. */
interface ChannelPlace {
  readonly channel: string
  readonly place: string
  readonly within?: string | undefined
}

/** The texts of a reply by channel. */
export class ReplyChannels {
  readonly #named = new Map<string, HeldChannel>()
  /** Repeats that are texts of their own, texts whose name now belongs to another, and beginnings that are joined. */
  readonly #nameless = new Set<HeldChannel>()
  /** By place. */
  readonly #repeated = new Map<string, Repeated>()
  /** Ids and names of calls, by channel. */
  readonly #calls = new Map<string, CallNames>()
  /** Where the last piece was: nearly all pieces of a reply are of one channel. */
  #lastPlace: ChannelPlace = { channel: '', place: '' }
  /** Places whose texts were shown as JSON. */
  readonly #gathered = new Set<string>()
  /** Whether such a place has said something else, before or since. */
  #isScattered = false
  #kept = 0

  readonly #before: SaidBefore
  readonly #shared: SharedTexts

  constructor(private readonly form: ReplyForm) {
    this.#before = new SaidBefore(form.holdBack)
    this.#shared = new SharedTexts(form.holdBack)
  }

  /** undefined: it is not shown. api: that of the event. text: what it says now. */
  piece(piece: Piece, api: LlmApi, text = piece.text): PlacedPiece | undefined {
    if (!this.#isShown(piece)) return undefined
    const { place, within } = this.#placeOf(piece)
    const channel = this.#channelOf(piece, place)
    const { length: start } = channel.text
    const index = this.#indexOf(piece, channel)
    const byIndex = this.#shared.say(
      { of: channel, index, start, text },
      () => channel.received ?? this.#before.said(place),
    )
    channel.push(text)
    const placed = { piece, channel, start }
    const isAlone = place === piece.channel && piece.kind !== 'tool-call'
    const said = { place, within, channel, start, text }
    const before = isAlone ? [] : this.#before.say(said, piece, api)
    if (before.length === 0 && byIndex === undefined) return placed
    const all = new Set(byIndex === undefined ? before : [...before, byIndex])
    return { ...placed, joined: [...all].map((one) => this.#joined(piece, one, text)) }
  }

  /** type: that of the event. */
  repeat(repeat: Repeat, type: string | undefined, text = repeat.text): PlacedPiece | undefined {
    if (!this.#isShown(repeat)) return undefined
    const known = this.#named.get(repeat.channel)
    if (known?.received === text) return this.mirror({ piece: repeat, channel: known, start: 0 })
    if (isContinued(repeat)) return this.#continue(repeat, type, text)
    if (repeat.isGathered === true) this.#gather(channelPlace(repeat.channel))
    const channel = this.#open(repeat, 'whole')
    channel.push(text)
    channel.end()
    if (known === undefined) this.#named.set(repeat.channel, channel)
    else this.#nameless.add(channel)
    return { piece: repeat, channel, start: 0 }
  }

  /** same: what the repeat says is a part of that channel. */
  mirror(same: PlacedPiece): PlacedPiece {
    const { piece } = same
    if (!isContinued(piece) || piece.text === '') return same
    const place = this.#repeatedAt(piece)
    const before = new Set([place.said])
    const byIndex = this.#say(place, piece, piece.text)
    if (byIndex !== undefined) before.add(byIndex)
    place.isMirror = true
    if (place.own === undefined) return same
    return { ...same, joined: [...before].map((one) => this.#joined(piece, one)) }
  }

  /** Ends the channels that these ends name, except those in but. */
  end(ends: StreamEvent['ends'], but: ReadonlySet<string> = NONE): void {
    if (ends.length === 0) return
    const isEnded = endedBy(ends)
    for (const [name, channel] of this.#named) if (isEnded(name) && !but.has(name)) channel.end()
    if (ends.includes('')) for (const channel of this.#own()) channel.end()
  }

  /** Number of channels that have a name, done or not. */
  get count(): number {
    return this.#named.size
  }

  /** Channels that may have something to show. */
  live(): readonly HeldChannel[] {
    return [...this.#named.values(), ...this.#nameless, ...this.#own()].filter(
      (channel) => !channel.isDone(),
    )
  }

  /** Reason that the reply cannot continue: a sentence without any text of it. */
  problem(): string | undefined {
    if (this.#repeated.size > MOST_CHANNELS || this.#before.size > MOST_CHANNELS)
      return 'it has texts at too many places'
    const stuck = (texts: Iterable<HeldChannel>): boolean =>
      [...texts].some(({ text }) => text.isStuck)
    if (stuck(this.#own()) || stuck(this.#nameless))
      return 'a text that is to be changed began in an event that has been sent'
    if (stuck(this.#named.values())) return 'a text changes so much that it cannot be cut'
    return this.#isScattered ? 'a member with many texts says others in another event' : undefined
  }

  forgetDone(): void {
    for (const channel of this.#nameless) if (channel.isDone()) this.#nameless.delete(channel)
    if (this.#named.size <= MOST_CHANNELS) return
    for (const [name, channel] of this.#named)
      if (channel.isDone()) {
        this.#named.delete(name)
        this.#calls.delete(name)
      }
  }

  #isShown({ kind }: Piece | Repeat): boolean {
    return this.form.shows.has(kind)
  }

  #placeOf({ channel, kind }: Piece): ChannelPlace {
    if (this.#lastPlace.channel !== channel) {
      const place = channelPlace(channel)
      const within = `${channel.split(' ', 1).join()} ${place}`
      const isAlone = within === channel && kind !== 'tool-call'
      this.#lastPlace = { channel, place, within: isAlone ? undefined : within }
    }
    return this.#lastPlace
  }

  /** Returns the index that says a piece of this text; "": that of the text itself. */
  #indexOf({ channel: name, choice = '' }: Piece, channel: HeldChannel): string {
    return this.#named.get(name) === channel ? choice : `${choice} ${name}`
  }

  #channelOf(piece: Piece, place: string): HeldChannel {
    const named = this.#named.get(piece.channel)
    if (this.#isAnother(piece, named)) named?.end()
    if (named?.isEnded === false) return named
    // No event has begun it: it continues what was said last.
    const isBegun = piece.continues !== true || named !== undefined
    const last = isBegun ? undefined : this.#before.last(place)
    if (last?.isEnded === false) return last
    // A text that has ended may still have something to show.
    if (named?.isDone() === false) this.#nameless.add(named)
    const isAtOnce = piece.kind !== 'text' || piece.isJson === true || piece.form === 'json'
    const channel = this.#open(piece, isAtOnce ? 'whole' : 'windows')
    this.#named.set(piece.channel, channel)
    return channel
  }

  /** Whether a piece begins a call under the index of another one. Notes what the call is called. */
  #isAnother({ kind, channel, call }: Piece, named: HeldChannel | undefined): boolean {
    if (kind !== 'tool-call' || call === undefined) return false
    const known = this.#calls.get(channel)
    const isAnother = isAnotherCall(known, call, (named?.text.length ?? 0) > 0)
    this.#calls.set(channel, isAnother ? call : { ...known, ...call })
    return isAnother
  }

  /** Returns a part of a text joined to what was said before it. */
  #joined(piece: Piece, before: string, text = piece.text): HeldChannel {
    const joined = this.#open({ ...piece, isJson: false }, 'continued', before)
    joined.push(text)
    joined.end()
    this.#nameless.add(joined)
    return joined
  }

  #continue(repeat: Repeat, type: string | undefined, text: string): PlacedPiece {
    const place = this.#repeatedAt(repeat)
    const channel = this.#ownOf(place, repeat)
    const { length: start } = channel.text
    const byIndex = this.#say(place, repeat, text)
    channel.push(text, type)
    const placed = { piece: repeat, channel, start }
    return byIndex === undefined
      ? placed
      : { ...placed, joined: [this.#joined(repeat, byIndex, text)] }
  }

  #ownOf(place: Repeated, repeat: Repeat): HeldChannel {
    const { own, said, isMirror } = place
    if (own !== undefined && !isMirror) return own
    own?.end()
    if (own?.isDone() === false) this.#nameless.add(own)
    place.own = this.#open(repeat, 'continued', said)
    place.isMirror = false
    return place.own
  }

  #repeatedAt({ channel }: Piece): Repeated {
    const place = channelPlace(channel)
    const known = this.#repeated.get(place)
    if (known !== undefined) return known
    const repeated: Repeated = { said: '', length: 0, isMirror: false }
    this.#repeated.set(place, repeated)
    for (const other of this.#gathered) if (isPlaceWithin(place, other)) this.#isScattered = true
    return repeated
  }

  /** Notes a place whose texts are shown as JSON: no text in it continues, or is continued. */
  #gather(place: string): void {
    if (this.#gathered.has(place)) this.#isScattered = true
    for (const other of this.#repeated.keys())
      if (isPlaceWithin(other, place)) this.#isScattered = true
    this.#gathered.add(place)
  }

  /** Returns what the index of a text has said before, if it is to be shown with that, too. */
  #say(place: Repeated, { channel, choice = '' }: Piece, text: string): string | undefined {
    const index = `${choice} ${channel}`
    place.index ??= index
    const said = { of: place, index: index === place.index ? '' : index, start: place.length, text }
    const byIndex = this.#shared.say(said, () => place.said)
    place.said = endOf(place.said, text, this.form.holdBack)
    place.length += text.length
    return byIndex
  }

  *#own(): Iterable<HeldChannel> {
    for (const { own } of this.#repeated.values()) if (own !== undefined) yield own
  }

  #open(speaker: Piece | Repeat, shown: ChannelForm['shown'], before = ''): HeldChannel {
    const { holdBack, maxSize } = this.form
    const mayKeep = (length: number): boolean => {
      this.#kept += length
      return this.#kept <= maxSize
    }
    return createHeldChannel(speaker, { holdBack, shown, mayKeep, before })
  }
}

/** JSON is shown as a whole: what is said in it begins and ends there. */
const isContinued = ({ kind, form, isJson }: Repeat): boolean =>
  form === 'string' && isJson !== true && (kind === 'text' || kind === 'tool-call')

// Texts that several indexes say, as no event has begun those of the others (decision 20h). A client that goes by index
// puts together what one of them says.

/** A part of a text. index: that says it; "": the text's own. start: its offset in the text. */
interface SaidByIndex {
  /** The text, or whatever stands for it. */
  readonly of: object
  readonly index: string
  readonly start: number
  readonly text: string
}

/** What one index has said of a text. */
interface Turn {
  /** The end of it. */
  readonly said: string
  /** Offset in the text from which on no other index has said anything. */
  readonly from: number
  /** Offset of its end in the text. */
  readonly end: number
}

/** Maximum number of indexes of one text that are followed. */
const MOST_INDEXES = 1024

/** Follows texts by index, from the time at which a second one says a part of them. */
export class SharedTexts {
  readonly #texts = new WeakMap<object, Map<string, Turn>>()

  /** holdBack: maximum length of a match, in characters. */
  constructor(private readonly holdBack: number) {}

  /**
   * Notes what an index says of a text. before: returns what the text has said until now, or the end of it. Returns what
   * the index has said before, unless all of that is in the text just before it.
   */
  say(said: SaidByIndex, before: () => string): string | undefined {
    const { of, index, start, text } = said
    const turns = this.#texts.get(of) ?? this.#share(said, before)
    if (turns === undefined || text === '') return undefined
    const known = turns.get(index)
    const from = known?.end === start ? known.from : start
    // Those that have said nothing for longest are first.
    turns.delete(index)
    turns.set(index, {
      said: endOf(known?.said, text, this.holdBack),
      from,
      end: start + text.length,
    })
    if (turns.size > MOST_INDEXES) {
      const [oldest = ''] = turns.keys()
      turns.delete(oldest)
    }
    const inARow = start - from
    const isSeen = inARow >= Math.min(this.holdBack, known?.said.length ?? 0)
    return isSeen ? undefined : known?.said
  }

  /** All that the text has said until now was under its own index. */
  #share(
    { of, index, start: end }: SaidByIndex,
    before: () => string,
  ): Map<string, Turn> | undefined {
    if (index === '') return undefined
    const turns = new Map([['', { said: endOf('', before(), this.holdBack), from: 0, end }]])
    this.#texts.set(of, turns)
    return turns
  }
}
