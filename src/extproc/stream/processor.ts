// What one stream does with the phases of one HTTP request; the stream itself (order, writes, the end) is process-stream's.

import type { Ending } from '../../ending.js'
import { GatehouseError } from '../../errors.js'
import type { BodyModes, BodyPart, HeadersPart } from './process-message.js'

/**
 * One per stream. A phase is called when the one before it has settled. It answers through the stream's send();
 * one that throws ends the stream with an error, which refuses the request.
 */
export interface Processor {
  /** first: what came with the stream's first message beside it. */
  requestHeaders(message: HeadersPart, first: FirstMessage): Promise<void> | void
  requestBody(message: BodyPart): Promise<void> | void
  requestTrailers(): Promise<void> | void
  responseHeaders(message: HeadersPart): Promise<void> | void
  responseBody(message: BodyPart): Promise<void> | void
  responseTrailers(): Promise<void> | void
  /** Whether nothing is owed any more: only then may a stream that Envoy has closed its side of end with OK. */
  isDone(): boolean
}

export interface FirstMessage {
  /** undefined: Envoy did not say. */
  readonly config?: BodyModes | undefined
  /** Dynamic metadata of the filters before this one, as an encoded Metadata: the claims of a verified token. */
  readonly metadata?: Buffer | undefined
}

/** What a processor has of its stream. */
export interface ProcessorStream {
  /** An encoded ProcessingResponse, which is copied. Ignored once the stream has ended. */
  send(this: void, response: Uint8Array): void
  /** Aborts when the stream has ended, by whatever side. */
  readonly signal: Ending
}

/** A message that cannot come in this phase, or twice: the stream ends with an error and nothing passes. */
export class UnexpectedMessage extends GatehouseError {
  readonly code = 'unexpected_message'

  constructor(message: string) {
    super(message)
    this.name = 'UnexpectedMessage'
  }
}
