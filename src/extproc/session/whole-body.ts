// Sends a whole body in full duplex, in turns of the event loop if it is long: many that are freed at once would hold up all
// else for as long as it takes to send them all.

import { inTurns, Pace, SLICE_UNITS, type Work } from '../../kit/turns.js'
import type { Phase } from '../../model/proc-entry.js'
import {
  type HeaderChange,
  PIECE_BYTES,
  sendBody,
  sendHeaders,
  sendTrailers,
} from './guard-messages.js'
import type { ProcessorStream } from './processor.js'

/** Units of work for a message of PIECE_BYTES: four in a slice take less than a millisecond. */
const PIECE_UNITS = SLICE_UNITS / 4

/**
 * Sends a body, and trailers if there are any. parts: not modified until all is sent. Nothing more is sent once the stream
 * has ended. Returns a promise only if it takes more than this turn.
 */
export function sendWhole(
  stream: ProcessorStream,
  phase: Phase,
  parts: readonly Uint8Array[],
  hasTrailers: boolean,
): Promise<void> | void {
  const [first = NOTHING] = parts
  if (parts.length > 1 || first.length > PIECE_BYTES)
    return inTurns(sendPieces(stream, phase, parts, hasTrailers), stream.signal)
  sendEnd(stream, phase, first, hasTrailers)
}

/** Sends headers with the length of a body, unless trailers follow it, and then the body as sendWhole() does. */
export function sendWithHeaders(
  stream: ProcessorStream,
  phase: Phase,
  change: HeaderChange,
  body: Uint8Array,
  hasTrailers: boolean,
): Promise<void> | void {
  const length: Readonly<Record<string, string>> = hasTrailers
    ? {}
    : { 'content-length': String(body.length) }
  sendHeaders(stream, phase, { ...change, set: { ...change.set, ...length } })
  return sendWhole(stream, phase, [body], hasTrailers)
}

const NOTHING = new Uint8Array(0)

function* sendPieces(
  stream: ProcessorStream,
  phase: Phase,
  parts: readonly Uint8Array[],
  hasTrailers: boolean,
): Work<void> {
  const pace = new Pace()
  let last: Uint8Array = NOTHING
  for (const part of parts)
    for (let from = 0; from < part.length; from += PIECE_BYTES) {
      if (last.length > 0) sendBody(stream.send, phase, last, false)
      last = part.subarray(from, from + PIECE_BYTES)
      if (pace.isDue(PIECE_UNITS)) yield
    }
  sendEnd(stream, phase, last, hasTrailers)
}

function sendEnd(
  { send }: ProcessorStream,
  phase: Phase,
  last: Uint8Array,
  hasTrailers: boolean,
): void {
  sendBody(send, phase, last, !hasTrailers)
  if (hasTrailers) sendTrailers(send, phase)
}
