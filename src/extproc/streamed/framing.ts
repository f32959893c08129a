// The ways in which a streamed reply is framed, each with the early end that its clients read.

import type { OwnError } from '../../llm/api-error.js'
import type { EventFrameReader } from '../../llm/framing/frame.js'
import { createJsonArrayReader } from '../../llm/framing/json-array-frames.js'
import { createSseReader } from '../../llm/framing/sse-frames.js'
import { arrayError, streamError } from '../../llm/stream-error.js'
import type { LlmApi } from '../../llm/text/api.js'

export interface Framing {
  readonly reader: EventFrameReader
  /** The end of the stream that has been sent so far. api: undefined when no event told. */
  errorEnd(error: OwnError, api: LlmApi | undefined, hasSent: boolean): string
}

/** maxBytes: of one event; likewise below. */
export const eventStream = (maxBytes: number): Framing => ({
  reader: createSseReader(maxBytes),
  errorEnd: (error, api) => streamError(api, error),
})

/** Of Gemini's streams without alt=sse. */
export const jsonArray = (maxBytes: number): Framing => ({
  reader: createJsonArrayReader(maxBytes),
  errorEnd: (error, _api, hasSent) => arrayError(error, !hasSent),
})
