// Runs one ext_proc stream: passes messages to the processor one at a time, sends its answers, and never ends with OK
// while an answer is owed. A stream that fails is answered with a refusal before it ends with an error.

import { OwnEnding } from '../../kit/ending.js'
import type { Phase } from '../../model/proc-entry.js'
import type { StreamCall, StreamListener } from '../../wire/grpc/service.js'
import { GrpcError, Status } from '../../wire/grpc/status.js'
import { type Headers, type ProcessMessage, readProcessMessage } from './process-message.js'
import { type Processor, type ProcessorStream, UnexpectedMessage } from './processor.js'
import { failureOf, refusedStream, type StreamFailure } from './stream-refusal.js'

/** An open stream, as the service sees it. */
export interface ProcessStream {
  /** Refuses the request if an answer is owed, and ends the stream with this status. Does nothing if it has ended. */
  fail(code: Status, details: string): void
}

/** A stream and the listener for its messages. */
export interface RunningStream {
  readonly stream: ProcessStream
  readonly listener: StreamListener
}

/** A stream that ends with an error while an answer is owed. */
export interface FailedStream {
  readonly reason: Exclude<StreamFailure, 'unknown-route'>
  /** Without any text of a message. */
  readonly problem: string
  /** Phase of the latest message. */
  readonly phase: Phase
  /** Headers of the request; empty: it ended before them. */
  readonly headers: Headers
}

/** What a stream is run with. */
export interface ProcessStreamDeps {
  createProcessor(stream: ProcessorStream): Processor
  /** Called when the processor throws: a bug, or an unexpected message. */
  onError(error: unknown): void
  /** Called when the stream ends with an error while an answer is owed, on which Envoy fails the request. */
  onFailed(failed: FailedStream): void
  /** Called once, however the stream ended. */
  onEnd(): void
}

/** Runs a stream. */
export function runProcessStream(call: StreamCall, deps: ProcessStreamDeps): RunningStream {
  const running = new Running(call, deps)
  return { stream: running, listener: running }
}

class Running implements ProcessStream, StreamListener {
  readonly #ended = new OwnEnding()
  readonly #processor: Processor
  /** Whether a message is being processed; the next one is read after that. */
  #isBusy = false
  /** Whether Envoy has not taken all that was sent. Reading pauses until it has, so no more is held here. */
  #isFull = false
  #phase: Phase = 'request'
  #headers: Headers = NO_HEADERS

  constructor(
    private readonly call: StreamCall,
    private readonly deps: ProcessStreamDeps,
  ) {
    const send = (response: Uint8Array): void => {
      if (!this.#ended.aborted && !call.send(response)) this.#isFull = true
    }
    this.#processor = deps.createProcessor({ send, signal: this.#ended })
  }

  fail(code: Status, details: string): void {
    if (this.#ended.aborted) return
    if (!this.#processor.isDone()) this.#refuse('unavailable', details)
    this.#end(() => this.call.end(code, details))
  }

  /** Ends a stream whose client has left, as after hours of a GET: nobody is denied anything. */
  #abandon(): void {
    this.call.send(refusedStream('unavailable', this.#headers))
    this.#end(() => this.call.end(Status.UNAVAILABLE, CLOSED))
  }

  onMessage(bytes: Buffer): void {
    if (this.#ended.aborted) return
    const message = messageOf(bytes)
    if (message.part === 'requestHeaders') this.#headers = message.headers
    else if (message.part === 'responseHeaders') this.#phase = 'response'
    try {
      const work = dispatch(this.#processor, message)
      if (work !== undefined) void this.#wait(work)
    } catch (error) {
      return this.#failed(error)
    }
    if (this.#isBusy || this.#isFull) this.call.pause()
  }

  /** Called when Envoy has closed its side. OK would let a request pass whose answer is still owed. */
  onEnd(): void {
    if (this.#ended.aborted) return
    if (this.#processor.isDone()) this.#end(() => this.call.end())
    else if (this.#phase === 'request' && this.#isBusy) this.fail(Status.UNAVAILABLE, CLOSED)
    else this.#abandon()
  }

  onCancel(): void {
    this.#end(() => {})
  }

  onDrain(): void {
    this.#isFull = false
    this.#goOn()
  }

  async #wait(work: Promise<void>): Promise<void> {
    this.#isBusy = true
    try {
      await work
    } catch (error) {
      this.#failed(error)
    }
    this.#isBusy = false
    this.#goOn()
  }

  #goOn(): void {
    if (!this.#isBusy && !this.#isFull) this.call.resume()
  }

  #failed(error: unknown): void {
    if (this.#ended.aborted) return
    this.deps.onError(error)
    this.#refuse('internal-error', FAILED)
    this.#end(() => this.call.end(Status.INTERNAL, FAILED))
  }

  /** Called when the call ends with an error that is not the processor's. */
  refusal(error: unknown): Uint8Array | undefined {
    if (this.#ended.aborted || this.#processor.isDone()) return undefined
    const reason = failureOf(error)
    // The message of a GrpcError contains nothing of the request.
    const problem = error instanceof GrpcError ? error.message : FAILED
    this.deps.onFailed({ reason, problem, phase: this.#phase, headers: this.#headers })
    return refusedStream(reason, this.#headers)
  }

  #refuse(reason: FailedStream['reason'], problem: string): void {
    // An audit is always done: it refuses nothing.
    if (!this.#processor.isDone()) this.call.send(refusedStream(reason, this.#headers))
    this.deps.onFailed({ reason, problem, phase: this.#phase, headers: this.#headers })
  }

  #end(finish: () => void): void {
    if (this.#ended.aborted) return
    try {
      this.#ended.abort()
    } catch (error) {
      // A bug in a part that ends must not keep the call open.
      this.deps.onError(error)
    }
    finish()
    this.deps.onEnd()
  }
}

const FAILED = 'the request could not be processed'
const CLOSED = 'the stream was closed before its answer'
const NO_HEADERS: Headers = new Map()

/** @throws GrpcError */
function messageOf(bytes: Buffer): ProcessMessage {
  try {
    return readProcessMessage(bytes)
  } catch {
    throw new GrpcError(Status.INTERNAL, 'a message that cannot be read')
  }
}

function dispatch(processor: Processor, message: ProcessMessage): Promise<void> | void {
  switch (message.part) {
    case 'requestHeaders':
      return processor.requestHeaders(message, message)
    case 'requestBody':
      return processor.requestBody(message)
    case 'requestTrailers':
      return processor.requestTrailers()
    case 'responseHeaders':
      return processor.responseHeaders(message, message)
    case 'responseBody':
      return processor.responseBody(message)
    case 'responseTrailers':
      return processor.responseTrailers()
    case undefined:
      throw new UnexpectedMessage('a message without a phase')
  }
}
