// Holds a streamed reply: its frames leave in order, each with the webhooks' changes, when all that it says has been
// seen. Pure: does not know who asks the webhooks, or when.

import { Pace, PIECE, piecesOf, unitsOf, type Work } from '../../../kit/turns.js'
import { channelPlace } from '../../llm/text/channels.js'
import type { Companion } from '../../llm/text/companions.js'
import {
  claimsOf,
  endedBy,
  isWhole,
  type Piece,
  rewriteEvent,
  type StreamEvent,
} from '../../llm/text/stream-event.js'
import { type EventFrame, piecesWithData } from '../framing/frame.js'
import type { HeldChannel } from './held-channel.js'
import {
  isFreePiece,
  isWholeIfCall,
  MOST_CHANNELS,
  type PlacedPiece,
  ReplyChannels,
  type ReplyForm,
} from './reply-channels.js'

/** A streamed reply while it is held. */
export interface HeldReply {
  /** event: what the frame's data says; absent: nothing that is to be shown. */
  add(frame: EventFrame, event: StreamEvent | undefined, pace: Pace): Work<void>
  /** Called when nothing more comes. */
  end(): void
  /** Channels that may have something to show. */
  channels(): Iterable<HeldChannel>
  /** Sends, once, what may leave now. Must not be called while it is running. */
  leave(send: (text: string) => void): Work<void>
  /** Whether no frames are held. */
  isEmpty(): boolean
  /** Number of characters in the held frames. */
  readonly size: number
  /** Number of held frames. */
  readonly frames: number
  /** Number of characters that no webhook has been asked about. */
  unseen(): number
  /** Whether the next frame has the signature of a text that has changed, and may not leave. */
  readonly isSignedChange: boolean
  /** Reason that the reply cannot continue, e.g. that it holds too much: a sentence without any text of the reply. */
  problem(): string | undefined
}

/** Observes what leaves, and may keep the end of a text until it has been seen. */
export interface Watch {
  left(event: LeavingEvent, pace: Pace): Work<void>
  /** Whether everything that has left of these channels has been seen. */
  isSeen(ends: StreamEvent['ends']): boolean
}

/** What the places of an event say when it leaves: one text for each piece and repeat. */
export interface LeavingEvent extends Omit<StreamEvent, 'json'> {
  readonly pieceTexts: readonly string[]
  readonly repeatTexts: readonly string[]
}

interface Item {
  readonly frame: EventFrame
  readonly event: StreamEvent | undefined
  readonly ends: StreamEvent['ends']
  readonly pieces: readonly (PlacedPiece | undefined)[]
  readonly repeats: readonly (PlacedPiece | undefined)[]
  /** What leaves; set when all of it is free and only the watch keeps it. */
  now?: string
}

/** Creates an empty reply. watch: sees what leaves. */
export function createHeldReply(form: ReplyForm, watch?: Watch): HeldReply {
  return new HeldFrames(form, watch)
}

/** Ends all channels. */
const ALL: StreamEvent['ends'] = ['']

/** Work of holding one event, whatever it says, in values read. */
const ADDING = 3
/** Number of channels examined for the work of one value. */
const CHANNELS = 8

class HeldFrames implements HeldReply {
  readonly #texts: ReplyChannels
  readonly #changed = new ChangedTexts()
  isSignedChange = false
  #items: Item[] = []
  /** Number of items that have left. */
  #gone = 0
  #held = 0
  /** Choices that have ended, according to the last event. */
  #claimed: StreamEvent['ends'] = []

  constructor(
    private readonly form: ReplyForm,
    private readonly watch: Watch | undefined,
  ) {
    this.#texts = new ReplyChannels(form)
  }

  *add(frame: EventFrame, event: StreamEvent | undefined, pace: Pace): Work<void> {
    this.#held += frame.raw.length
    if (pace.isDue(ADDING)) yield
    if (event !== undefined && this.#claimed.length > 0) yield* this.#endClaimed(event, pace)
    const pieces: Item['pieces'][number][] = []
    // Most events have none, and thousands of events may be held.
    const repeats: Item['repeats'][number][] = event?.repeats.length ? [] : NO_REPEATS
    if (event !== undefined)
      for (const piece of event.pieces) {
        if (pace.isDue()) yield
        pieces.push(this.#texts.piece(piece, event.api))
      }
    for (const repeat of event?.repeats ?? []) {
      if (pace.isDue(unitsOf(repeat.text.length))) yield
      const { ofPiece } = repeat
      const same = ofPiece === undefined ? undefined : pieces[ofPiece]
      repeats.push(
        same === undefined ? this.#texts.repeat(repeat, event?.type) : this.#texts.mirror(same),
      )
    }
    const ends = event?.ends ?? (frame.data === undefined ? [] : ALL)
    if (event !== undefined && event.ends.length > 0) yield* this.#endTexts(event, pace)
    this.#items.push({ frame, event, ends, pieces, repeats })
  }

  end(): void {
    this.#texts.end(ALL)
  }

  *#endTexts(event: StreamEvent, pace: Pace): Work<void> {
    const isClaim = claimsOf(event)
    this.#claimed = event.ends.filter(isClaim)
    const isClaimed = endedBy(this.#claimed)
    const ended = event.ends.filter((end) => !isClaim(end))
    for (const piece of event.pieces)
      if (isWhole(piece) && isClaimed(piece.channel)) ended.push(piece.channel)
    yield* this.#endChannels(ended, pace)
  }

  /** Ends the choices that the last event claimed to have ended, except the channels that this event continues. */
  *#endClaimed({ pieces }: StreamEvent, pace: Pace): Work<void> {
    const claimed = this.#claimed
    this.#claimed = []
    const goesOn = pieces.filter(({ text }) => text !== '').map(({ channel }) => channel)
    yield* this.#endChannels(claimed, pace, new Set(goesOn))
  }

  *#endChannels(ends: StreamEvent['ends'], pace: Pace, but?: ReadonlySet<string>): Work<void> {
    if (ends.length === 0) return
    if (pace.isDue(ends.length + Math.ceil(this.#texts.count / CHANNELS))) yield
    this.#texts.end(ends, but)
  }

  channels(): Iterable<HeldChannel> {
    return this.#texts.live()
  }

  *leave(send: (text: string) => void): Work<void> {
    const pace = new Pace()
    let raw = ''
    for (let item = this.#next(); item !== undefined; item = this.#next()) {
      if (pace.isDue(unitsOf(item.frame.raw.length))) {
        yield* sendAll(raw, send, pace)
        raw = ''
        yield
      }
      if (!(yield* this.#mayLeave(item, pace))) break
      raw += item.now ?? ''
      this.#held -= item.frame.raw.length
      this.#gone += 1
    }
    if (this.#gone > 0) this.#items = this.#items.slice(this.#gone)
    this.#gone = 0
    this.#texts.forgetDone()
    yield* sendAll(raw, send, pace)
  }

  #next(): Item | undefined {
    return this.#items[this.#gone]
  }

  isEmpty(): boolean {
    return this.frames === 0
  }

  get size(): number {
    return this.#held
  }

  get frames(): number {
    return this.#items.length - this.#gone
  }

  unseen(): number {
    return this.#texts.live().reduce((sum, { text }) => sum + text.unseen, 0)
  }

  problem(): string | undefined {
    const live = this.#texts.live()
    if (this.#held > this.form.maxSize) return 'it says more at once than the guardrail may hold'
    if (live.length > MOST_CHANNELS) return 'it has too many texts at once'
    return this.#texts.problem()
  }

  *#mayLeave(item: Item, pace: Pace): Work<boolean> {
    if (this.isSignedChange) return false
    if (item.now === undefined) {
      if (!isFree(item)) return false
      item.now = yield* this.#now(item, pace)
      if (this.isSignedChange) return false
    }
    return item.ends.length === 0 || (this.watch?.isSeen(item.ends) ?? true)
  }

  /** Returns what becomes of an item. Called once per item. */
  *#now({ frame, event, ends, pieces, repeats }: Item, pace: Pace): Work<string> {
    if (event === undefined) {
      if (this.watch !== undefined) yield* this.watch.left({ ...SAYS_NOTHING, ends }, pace)
      return frame.raw
    }
    const pieceTexts = yield* textsOf(pieces, pace)
    const isOwn = (index: number): boolean => event.repeats[index]?.ofPiece === undefined
    const own = yield* textsOf(
      repeats.map((repeat, index) => (isOwn(index) ? repeat : undefined)),
      pace,
    )
    const repeatTexts = event.repeats.map(({ ofPiece }, index) =>
      ofPiece === undefined ? own[index] : pieceTexts[ofPiece],
    )
    if (this.watch !== undefined) {
      const left = {
        ...event,
        pieceTexts: event.pieces.map(({ text }, index) => pieceTexts[index] ?? text),
        repeatTexts: event.repeats.map(({ text }, index) => repeatTexts[index] ?? text),
      }
      yield* this.watch.left(left, pace)
    }
    const emptied = [...pieces, ...repeats].flatMap((wait) => {
      if (wait?.piece.echoes === undefined) return []
      const { channel, start, piece } = wait
      const isGone =
        piece.echoesAll === true
          ? channel.isChanged
          : channel.isNearChange(start, start + piece.text.length)
      return isGone ? (piece.echoes ?? []) : []
    })
    this.#changed.note(event.pieces, pieceTexts)
    this.#changed.note(event.repeats, repeatTexts)
    for (const wait of pieces)
      if (wait?.piece.kind === 'tool-call' && wait.channel.isChanged)
        this.#changed.add(wait.piece.channel)
    const untrue = this.#changed.untrueOf(event.companions)
    this.isSignedChange =
      this.form.refusesSigned === true &&
      untrue.some(({ kind, isAhead }) => kind === 'signature' && isAhead !== true)
    const texts = { pieces: pieceTexts, repeats: repeatTexts, emptied, untrue }
    const data = yield* rewriteEvent(event, texts)
    if (data === event.json.text) return frame.raw
    const parts = yield* piecesWithData(frame, data, pace)
    return parts.join('')
  }
}

/** Shared by all events without repeats; never modified. */
const NO_REPEATS: Item['repeats'][number][] = []

/** What an event without texts says. */
const SAYS_NOTHING: Omit<LeavingEvent, 'ends'> = {
  api: 'openai-chat',
  companions: [],
  pieces: [],
  repeats: [],
  pieceTexts: [],
  repeatTexts: [],
}

function* sendAll(text: string, send: (text: string) => void, pace: Pace): Work<void> {
  if (text === '') return
  if (text.length <= PIECE) return send(text)
  for (const piece of piecesOf(text)) {
    if (pace.isDue(unitsOf(piece.length))) yield
    send(piece)
  }
}

function* textsOf(all: Item['pieces'], pace: Pace): Work<(string | undefined)[]> {
  const texts: (string | undefined)[] = []
  for (const wait of all) {
    if (pace.isDue(unitsOf(wait?.piece.text.length ?? 0))) yield
    texts.push(wait?.channel.leave(wait.start, wait.piece.text))
  }
  return texts
}

/** The signature of a call may come before its arguments. */
const isFree = ({ event, pieces, repeats }: Item): boolean =>
  pieces.every(isFreePiece) &&
  repeats.every(isFreePiece) &&
  (event === undefined || event.companions.length === 0 || pieces.every(isWholeIfCall))

// Which texts of a streamed reply have changed, so that what follows in later events and is true of them alone can go.

/** Maximum number of channels that are told apart. */
const MOST = 1024

const NONE: readonly Companion[] = []

/** The channels of texts that have changed. */
class ChangedTexts {
  readonly #channels = new Set<string>()

  /** now: what the pieces have become; undefined: they are as they were. */
  note(pieces: readonly Piece[], now: readonly (string | undefined)[]): void {
    for (const [index, text] of now.entries()) {
      const piece = pieces[index]
      if (piece !== undefined && text !== undefined && text !== piece.text) this.add(piece.channel)
    }
  }

  /** Returns the companions that are about a text which has changed, or may change yet. */
  untrueOf(companions: readonly Companion[]): readonly Companion[] {
    if (companions.length === 0) return NONE
    return companions.filter(
      ({ channel, isAhead }) => isAhead === true || this.#isChanged(inOrder(channel)),
    )
  }

  /** channel: of a text that has changed. */
  add(channel: string): void {
    // Beyond that, any text may have changed.
    this.#channels.add(this.#channels.size < MOST ? inOrder(channel) : '')
  }

  #isChanged(about: string): boolean {
    if (this.#channels.size === 0) return false
    if (about === '' || this.#channels.has('')) return true
    for (const channel of this.#channels)
      if (channel === about || channel.startsWith(`${about} `)) return true
    return false
  }
}

/** Returns a channel without the indexes of lists in it, which begin anew in each event. */
function inOrder(channel: string): string {
  const [first = '', ...rest] = channel.split(' ')
  return `${first} ${channelPlace(rest.join(' '))}`.trim()
}
