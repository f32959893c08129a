// The interface between the server and its services: methods on bytes, and the calls that they handle.

import type { Peer } from './peer.js'
import type { Status } from './status.js'

/** A service with its methods. */
export interface GrpcService {
  /** Full name from the protos, e.g. "envoy.service.auth.v3.Authorization"; health checks use it. */
  readonly name: string
  /** Methods by their name in the protos, e.g. "Check". */
  readonly methods: Readonly<Record<string, GrpcMethod>>
  /**
   * Ends the service's streams within timeoutMs; a stream that owes an answer never ends with OK.
   * Services are drained one after the other, in the order given.
   */
  drain?(timeoutMs: number): Promise<void> | void
}

/** A method, unary or streaming. */
export type GrpcMethod = UnaryMethod | StreamMethod

/** What unary and streaming methods have in common. */
interface AnyMethod {
  /**
   * Whether clients may call it before anything is known of them. It gets no metadata, and a connection may have only some
   * of its calls, with small messages: they must not take what the calls of all others share.
   */
  readonly isPublic?: true
}

/** One message, one answer. A thrown or rejected GrpcError sets the status; any other error becomes UNKNOWN. */
export interface UnaryMethod extends AnyMethod {
  readonly type: 'unary'
  /**
   * Called when the headers are there, before any of the message. Absent, or returns undefined: the call is handled. A
   * promise: the message waits for it; if it rejects, the call ends at once.
   */
  admit?(call: Call): Promise<void> | undefined
  handle(request: Buffer, call: Call): Uint8Array | Promise<Uint8Array>
  /**
   * Returns the answer in place of an error, for clients that take an error for consent. It is also called shortly before
   * the deadline. undefined, or absent: the client gets the error.
   */
  refuse?(error: unknown): Uint8Array | undefined
}

/** Any number of messages in both directions. */
export interface StreamMethod extends AnyMethod {
  readonly type: 'stream'
  /** Whether its calls stay open for days, longer than what a client has proved may be true. */
  readonly isLasting?: true
  open(call: StreamCall): StreamListener
  /** Returns what is sent before the error of a call that has no listener yet, as StreamListener.refusal() does. */
  refusal?(error: unknown): Uint8Array | undefined
}

/** A call in progress. */
export interface Call {
  readonly peer: Peer
  /** Deadline by Date.now(); Infinity: none. */
  readonly deadline: number
  /** Whether the call is over, so that its answer is not needed. */
  isCancelled(): boolean
  /** Returns all values of a header; name is in lower case, and each byte of a value is one character. */
  metadata(name: string): readonly string[]
}

/** A call of a streaming method, as its service sees it. */
export interface StreamCall extends Call {
  /** Sends a message; ignored after the end. Returns false if the client is slow; onDrain is called later. */
  send(message: Uint8Array): boolean
  /** Like send(), for one message in parts that are no longer modified, e.g. large ones that streams share. */
  sendParts(parts: readonly Buffer[]): boolean
  /** Ends the call without notifying the listener. */
  end(status?: Status, details?: string): void
  /** Stops the delivery of messages until resume(), with back-pressure on the client. */
  pause(): void
  resume(): void
}

/** Handles what a client sends on a stream. */
export interface StreamListener {
  /** Called with each message, perhaps a view of a larger buffer: copy what must be kept. Throwing ends the call. */
  onMessage(message: Buffer): void
  /** Called when the client has sent everything. */
  onEnd(): void
  /** Called when the client, the deadline or an error has ended the call: nothing more can be sent. */
  onCancel(): void
  onDrain(): void
  /** Returns what is sent before the server ends the call with an error, for clients that take an error for consent. */
  refusal?(error: unknown): Uint8Array | undefined
}
