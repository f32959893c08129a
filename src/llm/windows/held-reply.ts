// A streamed reply while it is held: its frames leave in their order, each when all that it says has been seen, with
// what became of it. Pure: who asks the webhooks, and when, is not known here.

import { type EventFrame, withData } from '../framing/frame.js'
import {
  isEnded,
  type Piece,
  type Repeat,
  rewriteEvent,
  type StreamEvent,
} from '../text/stream-event.js'
import type { HeldChannel } from './held-channel.js'
import { MOST_CHANNELS, ReplyChannels, type ReplyForm, type SaidPiece } from './reply-channels.js'

export interface HeldReply {
  /** event: what the frame's data says; absent: nothing that is to be seen. */
  add(frame: EventFrame, event?: StreamEvent): void
  /** Nothing more comes. */
  end(): void
  /** Those of which something may be to be shown. */
  channels(): Iterable<HeldChannel>
  /** What may leave by now, once. */
  ready(): string
  /** Whether nothing is held. */
  isEmpty(): boolean
  /** Characters of the frames that are held. */
  readonly size: number
  /** Characters that no webhook has been asked about. */
  unseen(): number
  /** Why it cannot go on: it holds too much. A sentence without any text. */
  problem(): string | undefined
}

/** What an event says, without its tree. */
type EventPlaces = Pick<StreamEvent, 'pieces' | 'repeats' | 'ends'> & {
  readonly json: Pick<StreamEvent['json'], 'text'>
}

/** Sees what leaves, and may keep the end of a text until it has been seen. */
export interface Watch {
  left(event: LeavingEvent): void
  /** Whether all that has left of these channels has been seen. */
  isSeen(ends: StreamEvent['ends']): boolean
}

/** What the places of an event say as it leaves: one text for each piece and repeat. */
export interface LeavingEvent extends Pick<StreamEvent, 'pieces' | 'repeats' | 'ends'> {
  readonly pieceTexts: readonly string[]
  readonly repeatTexts: readonly string[]
}

interface Item {
  readonly frame: EventFrame
  readonly event: EventPlaces | undefined
  readonly ends: StreamEvent['ends']
  readonly pieces: readonly (SaidPiece | undefined)[]
  readonly repeats: readonly (SaidPiece | undefined)[]
  /** What leaves: there when all of it is free, and only the watch keeps it. */
  now?: string
}

export function createHeldReply(form: ReplyForm, watch?: Watch): HeldReply {
  return new HeldFrames(form, watch)
}

/** The end of everything. */
const ALL: StreamEvent['ends'] = ['']

class HeldFrames implements HeldReply {
  private readonly texts: ReplyChannels
  private items: Item[] = []
  private held = 0
  /** Choices that the last event says to have ended. */
  private claimed: StreamEvent['ends'] = []

  constructor(
    private readonly form: ReplyForm,
    private readonly watch: Watch | undefined,
  ) {
    this.texts = new ReplyChannels(form)
  }

  add(frame: EventFrame, event?: StreamEvent): void {
    this.held += frame.raw.length
    if (event !== undefined) this.endClaimed(event)
    const pieces = (event?.pieces ?? []).map((piece) => this.texts.piece(piece))
    const repeats = (event?.repeats ?? []).map((repeat) => this.texts.repeat(repeat))
    const ends = event?.ends ?? (frame.data === undefined ? [] : ALL)
    if (event !== undefined) this.endTexts(event)
    this.items.push({ frame, event: event && placesOf(event), ends, pieces, repeats })
  }

  end(): void {
    this.texts.end(ALL)
  }

  private endTexts(event: StreamEvent): void {
    this.claimed = event.ends.filter((end) => isClaim(end, event))
    const ended = event.ends.filter((end) => !this.claimed.includes(end))
    const whole = event.pieces.filter(({ form }) => form === 'json').map(({ channel }) => channel)
    this.texts.end([...ended, ...whole.filter((channel) => isEnded(channel, this.claimed))])
  }

  /** But what goes on with this event. */
  private endClaimed({ pieces }: StreamEvent): void {
    const goesOn = pieces.filter(({ text }) => text !== '').map(({ channel }) => channel)
    this.texts.end(this.claimed, new Set(goesOn))
    this.claimed = []
  }

  channels(): Iterable<HeldChannel> {
    return this.texts.live()
  }

  ready(): string {
    let raw = ''
    let count = 0
    for (const item of this.items) {
      if (!this.mayLeave(item)) break
      raw += item.now ?? ''
      this.held -= item.frame.raw.length
      count += 1
    }
    if (count > 0) this.items = this.items.slice(count)
    this.texts.forgetDone()
    return raw
  }

  isEmpty(): boolean {
    return this.items.length === 0
  }

  get size(): number {
    return this.held
  }

  unseen(): number {
    return this.texts.live().reduce((sum, { text }) => sum + text.unseen, 0)
  }

  problem(): string | undefined {
    const live = this.texts.live()
    if (this.held > this.form.maxSize) return 'it says more at once than the guardrail may hold'
    if (live.length > MOST_CHANNELS) return 'it has too many texts at once'
    if (live.some(({ text }) => text.isStuck)) return 'a text changes so much that it cannot be cut'
    return undefined
  }

  private mayLeave(item: Item): boolean {
    if (item.now === undefined) {
      if (!isFree(item)) return false
      item.now = this.leave(item)
    }
    return item.ends.length === 0 || (this.watch?.isSeen(item.ends) ?? true)
  }

  private leave({ frame, event, ends, pieces, repeats }: Item): string {
    if (event === undefined) {
      this.watch?.left({ pieces: [], repeats: [], ends, pieceTexts: [], repeatTexts: [] })
      return frame.raw
    }
    const now = (wait: SaidPiece | undefined) => wait?.channel.leave(wait.start, wait.said.text)
    const texts = { pieces: pieces.map(now), repeats: repeats.map(now) }
    const or = (changed: readonly (string | undefined)[], said: readonly (Piece | Repeat)[]) =>
      said.map(({ text }, index) => changed[index] ?? text)
    this.watch?.left({
      ...event,
      pieceTexts: or(texts.pieces, event.pieces),
      repeatTexts: or(texts.repeats, event.repeats),
    })
    const emptied = [...pieces, ...repeats].flatMap((wait) => {
      if (wait?.said.echoes === undefined) return []
      const { channel, start, said } = wait
      return channel.isNearChange(start, start + said.text.length) ? (said.echoes ?? []) : []
    })
    const data = rewriteEvent(event, { ...texts, emptied })
    return data === event.json.text ? frame.raw : withData(frame, data)
  }
}

/** Some servers give every piece of a choice a reason why it has finished: the next event tells whether it has. */
const isClaim = (end: string, { api, pieces }: StreamEvent): boolean =>
  api !== 'openai-responses' &&
  /^\d+$/.test(end) &&
  pieces.some(({ channel, text }) => text !== '' && isEnded(channel, [end]))

const placesOf = ({ pieces, repeats, ends, json: { text } }: StreamEvent): EventPlaces => ({
  pieces,
  repeats,
  ends,
  json: { text },
})

const isFree = ({ pieces, repeats }: Item): boolean =>
  [...pieces, ...repeats].every((wait) => {
    if (wait === undefined) return true
    const { said, channel, start } = wait
    return channel.isFree(start + said.text.length + (said.isAhead ? 1 : 0)) || channel.isDone()
  })
