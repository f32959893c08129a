// Keeps the texts of a streamed reply by channel, and adds what events say to the text that it belongs to. Where nobody
// knows what an event continues, it continues what came before it at the same place (decision 20h).

import { ownPart } from '../../own-text.js'
import type { LlmApi } from '../text/api.js'
import { channelPlace, isPlaceWithin } from '../text/channels.js'
import type { EntryKind } from '../text/conversation.js'
import { endedBy, type Piece, type Repeat, type StreamEvent } from '../text/stream-event.js'
import { type ChannelForm, createHeldChannel, type HeldChannel } from './held-channel.js'

/** How the texts of a reply are shown and held. */
export interface ReplyForm {
  /** The kinds of texts that are shown; the others pass. */
  readonly shows: ReadonlySet<EntryKind>
  /** Maximum length of a match, in characters. */
  readonly holdBack: number
  /** Maximum number of UTF-16 units that are held. */
  readonly maxSize: number
}

/** A place of an event, and the text that it is a part of. */
export interface PlacedPiece {
  readonly piece: Piece | Repeat
  readonly channel: HeldChannel
  /** Offset of the place in the text. */
  readonly start: number
  /** The beginning of a text, shown with what another text of its place has said before it. */
  readonly joined?: HeldChannel
}

/** Maximum number of channels that are open at once. */
export const MOST_CHANNELS = 1024

const NONE: ReadonlySet<string> = new Set()

/** What the texts of one place have said, whatever the indexes in their channels are. */
interface Place {
  /** The end of it, in the order of arrival. */
  readonly said: string
  /** The text that was continued last. */
  readonly last: HeldChannel
}

/** What one place has said that repeats other texts, or may. */
interface Repeated {
  /** The end of it, as it came. */
  said: string
  /** What repeats no other text: nobody knows whether it continues. */
  own?: HeldChannel
  /** Whether something has been said since that repeats another text. */
  isMirror: boolean
}

/** APIs whose channels begin with the index of a choice. */
const OF_CHOICES: ReadonlySet<LlmApi> = new Set(['openai-chat', 'openai-completions', 'gemini'])

/** The texts of a reply by channel. */
export class ReplyChannels {
  private readonly named = new Map<string, HeldChannel>()
  /** Repeats that are texts of their own, texts whose name now belongs to another, and beginnings that are joined. */
  private readonly nameless = new Set<HeldChannel>()
  /** By place. */
  private readonly repeated = new Map<string, Repeated>()
  private readonly places = new Map<string, Place>()
  /** Where the last piece was: nearly all pieces of a reply are of one channel. */
  private lastPlace = { channel: '', place: '' }
  /** Places whose texts were shown as JSON. */
  private readonly gathered = new Set<string>()
  /** Whether such a place has said something else, before or since. */
  private isScattered = false
  private kept = 0

  constructor(private readonly form: ReplyForm) {}

  /** undefined: it is not shown. api: that of the event. text: what it says now. */
  piece(piece: Piece, api: LlmApi, text = piece.text): PlacedPiece | undefined {
    if (!this.isShown(piece)) return undefined
    const place = this.placeOf(piece)
    const before = this.places.get(place)
    const channel = this.channelOf(piece, before)
    const { length: start } = channel.text
    if (place !== piece.channel)
      this.places.set(place, { said: this.endOf(before?.said, text), last: channel })
    channel.push(text)
    const placed = { piece, channel, start }
    return start === 0 && text !== '' && isJoinedTo(before, piece, api, channel)
      ? { ...placed, joined: this.joined(piece, before.said, text) }
      : placed
  }

  /** type: that of the event. */
  repeat(repeat: Repeat, type: string | undefined, text = repeat.text): PlacedPiece | undefined {
    if (!this.isShown(repeat)) return undefined
    const known = this.named.get(repeat.channel)
    if (known?.received === text) return this.mirror({ piece: repeat, channel: known, start: 0 })
    if (isContinued(repeat)) return this.continue(repeat, type, text)
    if (repeat.isGathered === true) this.gather(channelPlace(repeat.channel))
    const channel = this.open(repeat, 'whole')
    channel.push(text)
    channel.end()
    if (known === undefined) this.named.set(repeat.channel, channel)
    else this.nameless.add(channel)
    return { piece: repeat, channel, start: 0 }
  }

  /** same: what the repeat says is a part of that channel. */
  mirror(same: PlacedPiece): PlacedPiece {
    const { piece } = same
    if (!isContinued(piece) || piece.text === '') return same
    const place = this.repeatedAt(piece)
    const before = place.said
    this.say(place, piece.text)
    place.isMirror = true
    return place.own === undefined ? same : { ...same, joined: this.joined(piece, before) }
  }

  /** Ends the channels that these ends name, except those in but. */
  end(ends: StreamEvent['ends'], but: ReadonlySet<string> = NONE): void {
    if (ends.length === 0) return
    const isEnded = endedBy(ends)
    for (const [name, channel] of this.named) if (isEnded(name) && !but.has(name)) channel.end()
    if (ends.includes('')) for (const channel of this.own()) channel.end()
  }

  /** Number of channels that have a name, done or not. */
  get count(): number {
    return this.named.size
  }

  /** Channels that may have something to show. */
  live(): readonly HeldChannel[] {
    return [...this.named.values(), ...this.nameless, ...this.own()].filter(
      (channel) => !channel.isDone(),
    )
  }

  /** Reason that the reply cannot continue: a sentence without any text of it. */
  problem(): string | undefined {
    if (this.repeated.size > MOST_CHANNELS || this.places.size > MOST_CHANNELS)
      return 'it has texts at too many places'
    const stuck = (texts: Iterable<HeldChannel>): boolean =>
      [...texts].some(({ text }) => text.isStuck)
    if (stuck(this.own()) || stuck(this.nameless))
      return 'a text that is to be changed began in an event that has been sent'
    if (stuck(this.named.values())) return 'a text changes so much that it cannot be cut'
    return this.isScattered ? 'a member with many texts says others in another event' : undefined
  }

  forgetDone(): void {
    for (const channel of this.nameless) if (channel.isDone()) this.nameless.delete(channel)
    if (this.named.size <= MOST_CHANNELS) return
    for (const [name, channel] of this.named) if (channel.isDone()) this.named.delete(name)
  }

  private isShown({ kind }: Piece | Repeat): boolean {
    return this.form.shows.has(kind)
  }

  private placeOf({ channel }: Piece): string {
    if (this.lastPlace.channel !== channel)
      this.lastPlace = { channel, place: channelPlace(channel) }
    return this.lastPlace.place
  }

  /** before: what its place has said. */
  private channelOf(piece: Piece, before: Place | undefined): HeldChannel {
    const named = this.named.get(piece.channel)
    if (named?.isEnded === false) return named
    // No event has begun it: it continues what was said last.
    const isBegun = piece.continues !== true || named !== undefined
    if (!isBegun && before?.last.isEnded === false) return before.last
    // A text that has ended may still have something to show.
    if (named?.isDone() === false) this.nameless.add(named)
    const isAtOnce = piece.kind !== 'text' || piece.isJson === true || piece.form === 'json'
    const channel = this.open(piece, isAtOnce ? 'whole' : 'windows')
    this.named.set(piece.channel, channel)
    return channel
  }

  /** Returns a part of a text joined to what was said before it. */
  private joined(piece: Piece, before: string, text = piece.text): HeldChannel {
    const joined = this.open(piece, 'continued', before)
    joined.push(text)
    joined.end()
    this.nameless.add(joined)
    return joined
  }

  private continue(repeat: Repeat, type: string | undefined, text: string): PlacedPiece {
    const place = this.repeatedAt(repeat)
    const channel = this.ownOf(place, repeat)
    const { length: start } = channel.text
    this.say(place, text)
    channel.push(text, type)
    return { piece: repeat, channel, start }
  }

  private ownOf(place: Repeated, repeat: Repeat): HeldChannel {
    const { own, said, isMirror } = place
    if (own !== undefined && !isMirror) return own
    own?.end()
    if (own?.isDone() === false) this.nameless.add(own)
    place.own = this.open(repeat, 'continued', said)
    place.isMirror = false
    return place.own
  }

  private repeatedAt({ channel }: Piece): Repeated {
    const place = channelPlace(channel)
    const known = this.repeated.get(place)
    if (known !== undefined) return known
    const repeated: Repeated = { said: '', isMirror: false }
    this.repeated.set(place, repeated)
    for (const other of this.gathered) if (isPlaceWithin(place, other)) this.isScattered = true
    return repeated
  }

  /** Notes a place whose texts are shown as JSON: no text in it continues, or is continued. */
  private gather(place: string): void {
    if (this.gathered.has(place)) this.isScattered = true
    for (const other of this.repeated.keys())
      if (isPlaceWithin(other, place)) this.isScattered = true
    this.gathered.add(place)
  }

  private say(place: Repeated, text: string): void {
    place.said = this.endOf(place.said, text)
  }

  /** Returns as much of the end as the longest match. */
  private endOf(before = '', text: string): string {
    const all = before + text
    return ownPart(all.slice(-this.form.holdBack), all)
  }

  private *own(): Iterable<HeldChannel> {
    for (const { own } of this.repeated.values()) if (own !== undefined) yield own
  }

  private open(speaker: Piece | Repeat, shown: ChannelForm['shown'], before = ''): HeldChannel {
    const { holdBack, maxSize } = this.form
    const mayKeep = (length: number): boolean => {
      this.kept += length
      return this.kept <= maxSize
    }
    return createHeldChannel(speaker, { holdBack, shown, mayKeep, before })
  }
}

/** JSON is shown as a whole: what is said in it begins and ends there. */
const isContinued = ({ kind, form, isJson }: Repeat): boolean =>
  form === 'string' && isJson !== true && (kind === 'text' || kind === 'tool-call')

/**
 * Whether the beginning of a text is shown with what another of its place has said: its index may be that of another
 * text, or count events. Not if the other has ended; but choices do not end for certain, as some servers give each chunk
 * a finish reason.
 */
function isJoinedTo(
  before: Place | undefined,
  { kind, form, continues }: Piece,
  api: LlmApi,
  channel: HeldChannel,
): before is Place {
  if (before === undefined || before.last === channel || before.said === '') return false
  if (kind !== 'text' || (form !== 'string' && form !== 'tokens')) return false
  return !before.last.isEnded || continues === true || OF_CHOICES.has(api)
}
