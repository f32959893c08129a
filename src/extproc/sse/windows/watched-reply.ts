// Collects what has left of a streamed reply for webhooks that see it afterwards (mode Async). Its texts are shown in
// windows too, and the end of a text waits for the last of them.

import type { Pace, Work } from '../../../kit/turns.js'
import type { HeldChannel } from './held-channel.js'
import type { LeavingEvent, Watch } from './held-reply.js'
import { ReplyChannels, type ReplyForm } from './reply-channels.js'

/** Collects the texts that have left, for webhooks of mode Async. */
export class WatchedReply implements Watch {
  readonly #texts: ReplyChannels

  constructor(form: ReplyForm) {
    this.#texts = new ReplyChannels(form)
  }

  *left(
    { api, type, pieces, repeats, ends, pieceTexts, repeatTexts }: LeavingEvent,
    pace: Pace,
  ): Work<void> {
    const texts = this.#texts
    for (const [index, piece] of pieces.entries()) {
      if (pace.isDue()) yield
      texts.piece(piece, api, pieceTexts[index])
    }
    for (const [index, repeat] of repeats.entries()) {
      if (pace.isDue()) yield
      texts.repeat(repeat, type, repeatTexts[index])
    }
    this.#texts.end(ends)
    this.#texts.forgetDone()
  }

  isSeen(): boolean {
    return this.#texts.live().every((channel) => !channel.isEnded)
  }

  /** Called when nothing more leaves. */
  end(): void {
    this.#texts.end([''])
  }

  channels(): Iterable<HeldChannel> {
    return this.#texts.live()
  }

  /** Number of characters that no webhook has been asked about. */
  unseen(): number {
    return this.#texts.live().reduce((sum, { text }) => sum + text.unseen, 0)
  }
}
