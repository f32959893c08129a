// What one stream does with the phases of one HTTP request; the stream itself (order, writes, the end) is process-stream's.

import { GatehouseError } from '../../errors.js'
import type { Metadata } from '../../grpc/generated/envoy/config/core/v3/base_pb.js'
import type {
  HttpBody,
  HttpHeaders,
  HttpTrailers,
  ProcessingResponse,
  ProtocolConfiguration,
} from '../../grpc/generated/envoy/service/ext_proc/v3/external_processor_pb.js'

/**
 * One per stream. A phase is called when the one before it has settled. It answers through the stream's send();
 * one that throws ends the stream with an error, which refuses the request.
 */
export interface Processor {
  /** first: what came with the stream's first message beside it. */
  requestHeaders(message: HttpHeaders, first: FirstMessage): Promise<void> | void
  requestBody(message: HttpBody): Promise<void> | void
  requestTrailers(message: HttpTrailers): Promise<void> | void
  responseHeaders(message: HttpHeaders): Promise<void> | void
  responseBody(message: HttpBody): Promise<void> | void
  responseTrailers(message: HttpTrailers): Promise<void> | void
  /** Whether nothing is owed any more: only then may a stream that Envoy has closed its side of end with OK. */
  isDone(): boolean
}

export interface FirstMessage {
  /** undefined: Envoy did not say. */
  readonly config?: ProtocolConfiguration | undefined
  /** Dynamic metadata of the filters before this one: the claims of a verified token. */
  readonly metadata?: Metadata | undefined
}

/** What a processor has of its stream. */
export interface ProcessorStream {
  /** Ignored once the stream has ended. */
  send(response: ProcessingResponse): void
  /** Aborts when the stream has ended, by whatever side. */
  readonly signal: AbortSignal
}

/** A message that cannot come in this phase, or twice: the stream ends with an error and nothing passes. */
export class UnexpectedMessage extends GatehouseError {
  readonly code = 'unexpected_message'

  constructor(message: string) {
    super(message)
    this.name = 'UnexpectedMessage'
  }
}
