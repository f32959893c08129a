// Tells a streamed JSON array from an object where the headers do not: by the first byte that is not white space,
// behind any encoding.

import { type Decoder, resumed } from '../encodings/decoder.js'

/** What the first bytes of a body tell. */
export type Opening =
  /** decoder: still produces all that was looked at. */
  | { readonly type: 'array'; readonly decoder: Decoder }
  /** To be read as a whole: not an array, or it cannot be decoded as it arrives. */
  | { readonly type: 'other' }
  /** Only white space so far. */
  | { readonly type: 'unknown' }

/** Looks at the first bytes of a body. */
export interface ArrayOpening {
  /** bytes: from the wire. Must not be called again after any result but 'unknown'. */
  look(bytes: Uint8Array): Promise<Opening>
  /** Stops decoding. */
  close(): void
}

/** Maximum bytes of white space that are searched. No model sends as many; compressed, they could be endless. */
const MOST_SPACE = 64 * 1024

/** decoder: for the reply's Content-Encoding. */
export function createArrayOpening(decoder: Decoder): ArrayOpening {
  let space: Uint8Array = Buffer.of()

  const look = async (bytes: Uint8Array): Promise<Opening> => {
    const decoded = await decoder.push(bytes)
    if (decoded === undefined) return { type: 'other' }
    const seen = Buffer.concat([space, decoded])
    const first = seen.subarray(space.length, MOST_SPACE).find((byte) => !SPACE.has(byte))
    if (first === OPENING) return { type: 'array', decoder: resumed(decoder, seen) }
    if (first !== undefined || seen.length >= MOST_SPACE) return { type: 'other' }
    space = seen
    return { type: 'unknown' }
  }
  return {
    look: async (bytes) => {
      const opening = await look(bytes)
      if (opening.type === 'other') decoder.close()
      return opening
    },
    close: () => decoder.close(),
  }
}

const SPACE: ReadonlySet<number> = new Set([0x20, 0x0a, 0x0d, 0x09])
const OPENING = '['.charCodeAt(0)
