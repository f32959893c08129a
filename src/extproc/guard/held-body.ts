// A body that is held back until all of it is there, bounded by itself and by what all bodies together may hold.

import type { Hold } from '../stream/held-bytes.js'

export interface HeldBody {
  readonly size: number
  /** Copies it. Otherwise what was held is dropped. */
  add(piece: Uint8Array): 'held' | 'too large' | 'busy'
  /** All of it is there: makes room for its text and for what webhooks are asked. false: there is none. */
  prepare(): boolean
  /** All of it, once. It stays counted until it is dropped. */
  take(): Uint8Array
  /** Nothing of it is needed any more. */
  drop(): void
}

/** Of the bytes of a body: its text, and the question with that text again. */
const BESIDE_THE_BYTES = 2

const NOTHING = new Uint8Array()

export function createHeldBody(maxBytes: number, hold: Hold): HeldBody {
  let pieces: Uint8Array[] = []
  let size = 0
  const drop = (): void => {
    pieces = []
    hold.release()
  }
  return {
    get size() {
      return size
    },
    add: (piece) => {
      size += piece.length
      const outcome = size > maxBytes ? 'too large' : hold.add(piece.length) ? 'held' : 'busy'
      if (outcome === 'held') pieces.push(Buffer.from(piece))
      else drop()
      return outcome
    },
    prepare: () => {
      const hasRoom = hold.add(size * BESIDE_THE_BYTES)
      if (!hasRoom) drop()
      return hasRoom
    },
    take: () => {
      const [first = NOTHING] = pieces
      const body = pieces.length > 1 ? Buffer.concat(pieces) : first
      pieces = []
      return body
    },
    drop,
  }
}
