// What a processor does with the phases of one HTTP request. Order, writes and the end of the stream are up to
// process-stream.ts.

import type { Ending } from '../../kit/ending.js'
import { GatehouseError } from '../../kit/errors.js'
import type { BodyModes, BodyPart, HeadersPart } from './process-message.js'

/**
 * Handles the phases of one stream. A phase is called after the previous one has settled, and answers through the
 * stream's send(). If it throws, the request is refused, and the stream ends with an error.
 */
export interface Processor {
  /** first: what else the stream's first message contained. */
  requestHeaders(message: HeadersPart, first: FirstMessage): Promise<void> | void
  requestBody(message: BodyPart): Promise<void> | void
  requestTrailers(): Promise<void> | void
  /** first: what else the stream's first message contained, if it was this one. */
  responseHeaders(message: HeadersPart, first: FirstMessage): Promise<void> | void
  responseBody(message: BodyPart): Promise<void> | void
  responseTrailers(): Promise<void> | void
  /** Whether nothing more is owed. Only then may the stream end with OK after Envoy has closed its side. */
  isDone(): boolean
}

/** What only the first message of a stream has. */
export interface FirstMessage {
  /** undefined: Envoy did not send it. */
  readonly config?: BodyModes | undefined
  /** Dynamic metadata of earlier filters, as an encoded Metadata: the claims of a verified token. */
  readonly metadata?: Buffer | undefined
}

/** The stream as a processor sees it. */
export interface ProcessorStream {
  /** Sends an encoded ProcessingResponse, which is copied. Ignored once the stream has ended. */
  send(this: void, response: Uint8Array): void
  /** Aborts when the stream has ended, on either side. */
  readonly signal: Ending
  /** Returns headers that the reply has in any case, by lower-case name; absent: none. Called when its headers are sent. */
  replyHeaders?(this: void): Readonly<Record<string, string>>
}

/** A message that is not allowed in this phase, or is repeated: the request is refused, and nothing passes. */
export class UnexpectedMessage extends GatehouseError {
  readonly code = 'unexpected_message'

  constructor(message: string) {
    super(message)
    this.name = 'UnexpectedMessage'
  }
}
