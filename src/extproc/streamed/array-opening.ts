// A reply whose headers do not tell a streamed JSON array from an object: the first byte that is no white space does, behind
// whatever encoding.

import { type Decoder, resumed } from '../encodings/decoder.js'

export type Opening =
  /** decoder: has given nothing yet of what was looked at. */
  | { readonly type: 'array'; readonly decoder: Decoder }
  /** It is to be read whole: no array, or nothing that can be read as it comes. */
  | { readonly type: 'other' }
  /** There is nothing but white space yet. */
  | { readonly type: 'unknown' }

export interface ArrayOpening {
  /** bytes: of the wire. Nothing is looked at after an array or another thing was found. */
  look(bytes: Uint8Array): Promise<Opening>
  /** Gives up what is being decoded. */
  close(): void
}

/** Bytes of white space that are looked through. No model sends as many; compressed, they could be without end. */
const MOST_SPACE = 64 * 1024

/** decoder: of its Content-Encoding. */
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
