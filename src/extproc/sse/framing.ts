// The framings of a streamed reply, each with the early end that its clients understand.

import type { OwnError } from '../llm/api-error.js'
import { arrayError, documentError, lineError, streamError } from '../llm/stream-error.js'
import type { LlmApi } from '../llm/text/api.js'
import { DeclaredEvents } from './framing/declared-events.js'
import type { EventFrameReader } from './framing/frame.js'
import { createJsonArrayReader } from './framing/json-array-frames.js'
import { createJsonLineReader } from './framing/json-line-frames.js'

/** A framing of events, with its early end. */
export interface Framing {
  readonly reader: EventFrameReader
  /** Returns an early end with an error for what has been sent so far. api: undefined when no event revealed it. */
  errorEnd(error: OwnError, api: LlmApi | undefined, hasSent: boolean): string
}

/** maxBytes: maximum size of one event; likewise below. */
export function eventStream(maxBytes: number): Framing {
  const reader = new DeclaredEvents(maxBytes)
  return {
    reader,
    errorEnd: (error, api) =>
      reader.isDocument ? documentError(api, error) : streamError(api, error),
  }
}

/** Framing of Ollama's streams: a line of JSON for each event. */
export const jsonLines = (maxBytes: number): Framing => ({
  reader: createJsonLineReader(maxBytes),
  errorEnd: (error) => lineError(error),
})

/** Framing of Gemini's streams without alt=sse. */
export const jsonArray = (maxBytes: number): Framing => ({
  reader: createJsonArrayReader(maxBytes),
  errorEnd: (error, _api, hasSent) => arrayError(error, !hasSent),
})
