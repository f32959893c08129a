// A body that is held back until all of it is there, bounded.

export interface HeldBody {
  /** false: it is larger than the limit now; what was held is dropped. */
  add(piece: Uint8Array): boolean
  /** All of it; nothing is held any more. */
  take(): Uint8Array
}

export function createHeldBody(maxBytes: number): HeldBody {
  let pieces: Uint8Array[] = []
  let size = 0
  return {
    add: (piece) => {
      size += piece.length
      if (size <= maxBytes) pieces.push(piece)
      else pieces = []
      return size <= maxBytes
    },
    take: () => {
      const body = Buffer.concat(pieces)
      pieces = []
      return body
    },
  }
}
