// Holds a body until it is complete, within its own limit and the budget that all bodies share.

import { ByteCollector, joined } from '../../byte-collector.js'
import type { Hold } from '../stream/held-bytes.js'

export interface HeldBody {
  readonly size: number
  /** Copies the piece. Unless the result is 'held', everything held is dropped. */
  add(piece: Uint8Array): 'held' | 'too large' | 'busy'
  /**
   * Reserves room for the text of a complete body and the webhook request. false: no room is left, the body is dropped.
   */
  prepare(): boolean
  /** Returns the whole body, once. It counts as held until drop() is called. */
  take(): Uint8Array
  /** Drops the body and releases its bytes. */
  drop(): void
}

/** Copies needed beside the bytes of a body: its text, and the webhook request that repeats the text. */
const BESIDE_THE_BYTES = 2

export function createHeldBody(maxBytes: number, hold: Hold): HeldBody {
  const bytes = new ByteCollector()
  let size = 0
  const drop = (): void => {
    bytes.drop()
    hold.release()
  }
  return {
    get size() {
      return size
    },
    add: (piece) => {
      size += piece.length
      const outcome = size > maxBytes ? 'too large' : hold.add(piece.length) ? 'held' : 'busy'
      if (outcome === 'held') bytes.add(piece)
      else drop()
      return outcome
    },
    prepare: () => {
      const hasRoom = hold.add(size * BESIDE_THE_BYTES)
      if (!hasRoom) drop()
      return hasRoom
    },
    take: () => joined(bytes.take()),
    drop,
  }
}
