// Holds a body until it is complete, within its own limit and the budget that all bodies share.

import { ByteCollector } from '../../kit/byte-collector.js'
import { HELD_FOR_EACH, type Hold } from '../session/held-bytes.js'

/** A body that is held. */
export interface HeldBody {
  readonly size: number
  /** Copies the piece. Unless the result is 'held', everything held is dropped. */
  add(piece: Uint8Array): 'held' | 'too large' | 'busy'
  /**
   * Reserves room for the text of a complete body and the webhook request. false: no room is left, the body is dropped.
   */
  prepare(): boolean
  /** Returns the whole body, once, in few parts; none: it is empty. It counts as held until drop() is called. */
  take(): readonly Buffer[]
  /** Drops the body and releases its bytes. */
  drop(): void
}

/** Copies needed beside the bytes of a body: its text, and the webhook request that repeats the text. */
const BESIDE_THE_BYTES = HELD_FOR_EACH - 1

/** Creates an empty body. */
export const createHeldBody = (maxBytes: number, hold: Hold): HeldBody => new Held(maxBytes, hold)

/** A class, because every guarded request makes two, and a getter in an object literal is slow to create. */
class Held implements HeldBody {
  size = 0
  readonly #bytes = new ByteCollector()

  constructor(
    private readonly maxBytes: number,
    private readonly hold: Hold,
  ) {}

  add(piece: Uint8Array): 'held' | 'too large' | 'busy' {
    this.size += piece.length
    const outcome =
      this.size > this.maxBytes ? 'too large' : this.hold.add(piece.length) ? 'held' : 'busy'
    if (outcome === 'held') this.#bytes.add(piece)
    else this.drop()
    return outcome
  }

  prepare(): boolean {
    const hasRoom = this.hold.add(this.size * BESIDE_THE_BYTES)
    if (!hasRoom) this.drop()
    return hasRoom
  }

  take(): readonly Buffer[] {
    return this.#bytes.take()
  }

  drop(): void {
    this.#bytes.drop()
    this.hold.release()
  }
}
