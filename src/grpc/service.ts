// What a service is to the server: methods that take messages as bytes, and what they know of a call.

import type { Peer } from './peer.js'
import type { Status } from './status.js'

export interface GrpcService {
  /** As the protos have it, e.g. "envoy.service.auth.v3.Authorization": what health checks ask for. */
  readonly name: string
  /** By their names in the protos: "Check". */
  readonly methods: Readonly<Record<string, GrpcMethod>>
  /**
   * Ends the service's streams within timeoutMs: those that owe an answer never with OK.
   * Services are drained one after the other, in the order given.
   */
  drain?(timeoutMs: number): Promise<void> | void
}

export type GrpcMethod = UnaryMethod | StreamMethod

/** One message, one answer. It may throw or reject: by a GrpcError with its status, else with UNKNOWN and no details. */
export interface UnaryMethod {
  readonly type: 'unary'
  handle(request: Buffer, call: Call): Uint8Array | Promise<Uint8Array>
}

/** Messages both ways, as many as either side likes. */
export interface StreamMethod {
  readonly type: 'stream'
  open(call: StreamCall): StreamListener
}

export interface Call {
  readonly peer: Peer
  /** By Date.now(); Infinity: none. */
  readonly deadline: number
  /** Nobody waits for the answer any more. */
  isCancelled(): boolean
  /** Every value of a header, whose name is in lower case; each byte is a character. */
  metadata(name: string): readonly string[]
}

export interface StreamCall extends Call {
  /** false: the client does not take it yet, and onDrain will be called. Ignored when the call has ended. */
  send(message: Uint8Array): boolean
  /** As send(), of one message in parts, which nobody writes to any more: large ones that many streams share. */
  sendParts(parts: readonly Buffer[]): boolean
  /** The listener is not told. */
  end(status?: Status, details?: string): void
  /** No message comes until resume(); the client is held back. */
  pause(): void
  resume(): void
}

export interface StreamListener {
  /** Its bytes may lie among others that came with them: copy what must stay. One that throws ends the call. */
  onMessage(message: Buffer): void
  /** The client has sent all. */
  onEnd(): void
  /** The call is over by the client's doing, by its deadline or by a fault: nothing can be sent any more. */
  onCancel(): void
  onDrain(): void
}
