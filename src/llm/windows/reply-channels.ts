// Keeps the texts of a streamed reply by channel, and adds what events say to the text that it belongs to.

import type { EntryKind } from '../text/conversation.js'
import { endedBy, type Piece, type Repeat, type StreamEvent } from '../text/stream-event.js'
import { createHeldChannel, type HeldChannel } from './held-channel.js'

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
}

/** Maximum number of channels that are open at once. */
export const MOST_CHANNELS = 1024

const NONE: ReadonlySet<string> = new Set()

/** The texts of a reply by channel. */
export class ReplyChannels {
  private readonly named = new Map<string, HeldChannel>()
  /** Repeats that are texts of their own, and texts whose name now belongs to another. */
  private readonly nameless = new Set<HeldChannel>()
  private kept = 0

  constructor(private readonly form: ReplyForm) {}

  /** undefined: it is not shown. text: what it says now. */
  piece(piece: Piece, text = piece.text): PlacedPiece | undefined {
    if (!this.isShown(piece)) return undefined
    let channel = this.named.get(piece.channel)
    if (channel === undefined || channel.isEnded) {
      // A text that has ended may still have something to show.
      if (channel?.isDone() === false) this.nameless.add(channel)
      const isAtOnce = piece.kind !== 'text' || piece.isJson === true || piece.form === 'json'
      channel = this.open(piece, isAtOnce)
      this.named.set(piece.channel, channel)
    }
    const { length: start } = channel.text
    channel.push(text)
    return { piece, channel, start }
  }

  repeat(repeat: Repeat, text = repeat.text): PlacedPiece | undefined {
    if (!this.isShown(repeat)) return undefined
    const known = this.named.get(repeat.channel)
    if (known?.received === text) return { piece: repeat, channel: known, start: 0 }
    const channel = this.open(repeat, true)
    channel.push(text)
    channel.end()
    if (known === undefined) this.named.set(repeat.channel, channel)
    else this.nameless.add(channel)
    return { piece: repeat, channel, start: 0 }
  }

  /** Ends the channels that these ends name, except those in but. */
  end(ends: StreamEvent['ends'], but: ReadonlySet<string> = NONE): void {
    if (ends.length === 0) return
    const isEnded = endedBy(ends)
    for (const [name, channel] of this.named) if (isEnded(name) && !but.has(name)) channel.end()
  }

  /** Number of channels that have a name, done or not. */
  get count(): number {
    return this.named.size
  }

  /** Channels that may have something to show. */
  live(): readonly HeldChannel[] {
    return [...this.named.values(), ...this.nameless].filter((channel) => !channel.isDone())
  }

  forgetDone(): void {
    for (const channel of this.nameless) if (channel.isDone()) this.nameless.delete(channel)
    if (this.named.size <= MOST_CHANNELS) return
    for (const [name, channel] of this.named) if (channel.isDone()) this.named.delete(name)
  }

  private isShown({ kind }: Piece | Repeat): boolean {
    return this.form.shows.has(kind)
  }

  private open(speaker: Piece | Repeat, isWhole: boolean): HeldChannel {
    const { holdBack, maxSize } = this.form
    const mayKeep = (length: number): boolean => {
      this.kept += length
      return this.kept <= maxSize
    }
    return createHeldChannel(speaker, { holdBack, isWhole, mayKeep })
  }
}
