// Decodes a whole body by its Content-Encoding, within the limits of one body and of all that are held.

import type { Ending } from '../../kit/ending.js'
import { decodeReply } from '../encodings/decode-reply.js'
import { HELD_FOR_EACH, type HeldBytes, openUntil } from '../session/held-bytes.js'

/** What a body is decoded to. unreadable: its encoding is not supported, or it is damaged. */
export type DecodedBody =
  | { readonly type: 'decoded'; readonly body: Uint8Array }
  | { readonly type: 'unreadable' | 'too large' | 'busy' | 'aborted' }

/** An encoded body, and how much may be made of it. */
export interface EncodedBody {
  readonly bytes: Uint8Array
  /** Names of encodings, separated by commas, in the order in which they were applied. */
  readonly encoding: string
  readonly maxBodyBytes: number
  readonly heldBytes: HeldBytes
  readonly signal: Ending
  /** How often each decoded byte counts; absent: HELD_FOR_EACH. */
  readonly heldForEach?: number
}

/** Passes on what the body is decoded to, which counts as held until the result is there. */
export async function withDecoded<T>(
  encoded: EncodedBody,
  use: (decoded: DecodedBody) => Promise<T> | T,
): Promise<T> {
  const { bytes, encoding, maxBodyBytes, heldBytes, signal, heldForEach = HELD_FOR_EACH } = encoded
  const hold = openUntil(signal, heldBytes)
  let size = 0
  let isFull = false
  const mayHold = (more: number): boolean => {
    size += more
    isFull ||= !hold.add(more * heldForEach)
    return !isFull
  }
  try {
    const body = await decodeReply(bytes, encoding, { maxBytes: maxBodyBytes, mayHold })
    if (signal.aborted) return await use({ type: 'aborted' })
    if (body !== undefined) return await use({ type: 'decoded', body })
    return await use({ type: size > maxBodyBytes ? 'too large' : isFull ? 'busy' : 'unreadable' })
  } finally {
    hold.release()
  }
}

/** Decodes a body that a user has at hand; undefined: it cannot be decoded. */
export async function decodeUnheld(
  bytes: Uint8Array,
  encoding: string,
  maxBytes: number,
): Promise<Uint8Array | 'too large' | undefined> {
  let size = 0
  const mayHold = (more: number): boolean => {
    size += more
    return true
  }
  const body = await decodeReply(bytes, encoding, { maxBytes, mayHold })
  return body ?? (size > maxBytes ? 'too large' : undefined)
}
