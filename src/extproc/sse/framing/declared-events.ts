// Reads what a server declares as server-sent events: events, or one JSON document, which some servers send in chunks.
// JSON has line ends only between values, so that none of its lines is a field of an event: a client that reads events
// finds none in it.

import { err, ok, type Result } from '../../../kit/result.js'
import { type Pace, piecesOf, unitsOf, type Work } from '../../../kit/turns.js'
import {
  type EventFrame,
  type EventFrameReader,
  type FrameSink,
  type Reading,
  withoutLineEnds,
} from './frame.js'
import { FrameCutter } from './frame-cutter.js'
import { createSseReader } from './sse-frames.js'

const OBJECT = '{'.charCodeAt(0)
const LINE_ENDS: ReadonlySet<number> = new Set([0x0a, 0x0d])

/** Reads events, or a JSON document as one event. */
export class DeclaredEvents implements EventFrameReader {
  readonly #events: EventFrameReader
  readonly #document: EventFrameReader
  #isDocument: boolean | undefined

  /** maxBytes: of one event, or of the document. */
  constructor(maxBytes: number) {
    this.#events = createSseReader(maxBytes)
    this.#document = new FrameCutter(maxBytes, { ends: () => NO_ENDS, frameOf: documentOf })
  }

  /** Whether what has arrived is JSON. */
  get isDocument(): boolean {
    return this.#isDocument === true
  }

  get held(): number {
    return this.#reader.held
  }

  *push(bytes: Uint8Array, take: FrameSink): Reading {
    if (this.#isDocument !== undefined) return yield* this.#reader.push(bytes, take)
    const at = bytes.findIndex((byte) => !LINE_ENDS.has(byte))
    if (at === -1) return yield* this.#events.push(bytes, take)
    const blank = yield* this.#events.push(bytes.subarray(0, at), take)
    if (!blank.ok) return blank
    this.#isDocument = bytes[at] === OBJECT
    return yield* this.#reader.push(bytes.subarray(at), take)
  }

  end(take: FrameSink): Reading {
    return this.#reader.end(take)
  }

  get #reader(): EventFrameReader {
    return this.isDocument ? this.#document : this.#events
  }
}

const NO_ENDS: Result<readonly number[], string> = ok([])

function* documentOf(raw: string, pace: Pace): Work<Result<EventFrame, string>> {
  // It is no JSON: a client that reads events would find one in it.
  if (raw.includes('\ndata') || raw.includes('\rdata'))
    return err('it begins like JSON, and a line of it is of an event')
  const pieces: string[] = []
  for (const piece of piecesOf(raw)) {
    if (pace.isDue(unitsOf(piece.length))) yield
    const escaped = withoutLineEnds(piece, pace)
    pieces.push(typeof escaped === 'string' ? escaped : yield* escaped)
  }
  const data = pieces.join('')
  return ok({ raw: data, data, around: { before: '', after: '', between: '\n' } })
}
