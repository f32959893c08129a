// The texts of a streamed reply, by their channels: what its events say goes to the text that it belongs to.

import { endedBy, type Piece, type Repeat, type StreamEvent } from '../text/stream-event.js'
import { createHeldChannel, type HeldChannel } from './held-channel.js'

export interface ReplyForm {
  /** everything: tool calls too. */
  readonly shows: 'nothing' | 'texts' | 'everything'
  /** Characters that a match may be long. */
  readonly holdBack: number
  /** UTF-16 units that may be held. */
  readonly maxSize: number
}

/** A place of an event, and the text that it is a part of. */
export interface SaidPiece {
  readonly said: Piece | Repeat
  readonly channel: HeldChannel
  /** Where it begins in the text. */
  readonly start: number
}

/** That are open at once. */
export const MOST_CHANNELS = 1024

const NONE: ReadonlySet<string> = new Set()

export class ReplyChannels {
  private readonly named = new Map<string, HeldChannel>()
  /** Repeats that are texts of their own, and texts whose name has gone to another. */
  private readonly nameless = new Set<HeldChannel>()
  private kept = 0

  constructor(private readonly form: ReplyForm) {}

  /** undefined: it is not shown. text: what it says by now. */
  piece(piece: Piece, text = piece.text): SaidPiece | undefined {
    if (!this.isShown(piece)) return undefined
    let channel = this.named.get(piece.channel)
    if (channel === undefined || channel.isEnded) {
      // What has ended may still be to be shown.
      if (channel?.isDone() === false) this.nameless.add(channel)
      const isWhole = piece.kind === 'tool-call' || piece.isJson === true || piece.form === 'json'
      channel = this.open(piece, isWhole)
      this.named.set(piece.channel, channel)
    }
    const { length: start } = channel.text
    channel.push(text)
    return { said: piece, channel, start }
  }

  repeat(repeat: Repeat, text = repeat.text): SaidPiece | undefined {
    if (!this.isShown(repeat)) return undefined
    const known = this.named.get(repeat.channel)
    if (known?.said === text) return { said: repeat, channel: known, start: 0 }
    const channel = this.open(repeat, true)
    channel.push(text)
    channel.end()
    if (known === undefined) this.named.set(repeat.channel, channel)
    else this.nameless.add(channel)
    return { said: repeat, channel, start: 0 }
  }

  /** The channels of which nothing more comes, but some. */
  end(ends: StreamEvent['ends'], but: ReadonlySet<string> = NONE): void {
    if (ends.length === 0) return
    const isEnded = endedBy(ends)
    for (const [name, channel] of this.named) if (isEnded(name) && !but.has(name)) channel.end()
  }

  /** Those that have a name, done or not. */
  get count(): number {
    return this.named.size
  }

  /** Those of which something may be to be shown. */
  live(): readonly HeldChannel[] {
    return [...this.named.values(), ...this.nameless].filter((channel) => !channel.isDone())
  }

  forgetDone(): void {
    for (const channel of this.nameless) if (channel.isDone()) this.nameless.delete(channel)
    if (this.named.size <= MOST_CHANNELS) return
    for (const [name, channel] of this.named) if (channel.isDone()) this.named.delete(name)
  }

  private isShown({ kind }: Piece | Repeat): boolean {
    const { shows } = this.form
    return shows === 'everything' || (shows === 'texts' && kind === 'text')
  }

  private open(said: Piece | Repeat, isWhole: boolean): HeldChannel {
    const { holdBack, maxSize } = this.form
    const mayKeep = (length: number): boolean => {
      this.kept += length
      return this.kept <= maxSize
    }
    return createHeldChannel(said, { holdBack, isWhole, mayKeep })
  }
}
