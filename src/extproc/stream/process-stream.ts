// One ext_proc stream: messages to the processor one at a time, answers back, and an end that is never OK while an answer is owed.

import type {
  ProcessingRequest,
  ProcessingResponse,
} from '../../grpc/generated/envoy/service/ext_proc/v3/external_processor_pb.js'
import { Status } from '../../grpc/status.js'
import type { TypedStreamCall, TypedStreamListener } from '../../grpc/typed-methods.js'
import { type Processor, type ProcessorStream, UnexpectedMessage } from './processor.js'

export type ProcessCall = TypedStreamCall<ProcessingResponse>
export type ProcessListener = TypedStreamListener<ProcessingRequest>

export interface ProcessStream {
  /** Ends it with this status; nothing happens when it has ended. Envoy refuses the request then. */
  fail(code: Status, details: string): void
}

export interface RunningStream {
  readonly stream: ProcessStream
  readonly listener: ProcessListener
}

export interface ProcessStreamDeps {
  createProcessor(stream: ProcessorStream): Processor
  /** The processor threw: a bug, or a message that it does not expect. */
  onError(error: unknown): void
  /** Called once, however the stream ended. */
  onEnd(): void
}

export function runProcessStream(call: ProcessCall, deps: ProcessStreamDeps): RunningStream {
  const ended = new AbortController()
  // One message after the other, in the order in which they came.
  let turn: Promise<void> = Promise.resolve()
  const outgoing = new Outgoing()

  const end = (finish: () => void): void => {
    if (ended.signal.aborted) return
    ended.abort()
    outgoing.taken()
    finish()
    deps.onEnd()
  }
  const fail = (code: Status, details: string): void => end(() => call.end(code, details))
  const send = (response: ProcessingResponse): void => {
    if (!ended.signal.aborted && !call.send(response)) outgoing.waits()
  }
  const processor = deps.createProcessor({ send, signal: ended.signal })

  const take = async (message: ProcessingRequest): Promise<void> => {
    if (ended.signal.aborted) return
    try {
      await dispatch(processor, message)
      await outgoing.done
    } catch (error) {
      if (ended.signal.aborted) return
      deps.onError(error)
      fail(Status.INTERNAL, 'the request could not be processed')
    } finally {
      call.resume()
    }
  }
  const listener: ProcessListener = {
    onMessage: (message) => {
      call.pause()
      turn = turn.then(() => take(message))
    },
    // Envoy has closed its side. OK would let a request pass whose answer is still owed.
    onEnd: () => {
      turn = turn.then(() => {
        if (processor.isDone()) end(() => call.end())
        else fail(Status.UNAVAILABLE, 'the stream was closed before its answer')
      })
    },
    onCancel: () => end(() => {}),
    onDrain: () => outgoing.taken(),
  }
  return { stream: { fail }, listener }
}

/** What was sent and Envoy has not taken: no more is read from it before, so no more is held here. */
class Outgoing {
  /** Resolves when Envoy has taken all, or the stream has ended. */
  done: Promise<void> | undefined
  #resolve = (): void => {}

  waits(): void {
    this.done ??= new Promise((resolve) => (this.#resolve = resolve))
  }

  taken(): void {
    this.#resolve()
    this.done = undefined
  }
}

function dispatch(processor: Processor, message: ProcessingRequest): Promise<void> | void {
  const { request } = message
  switch (request.case) {
    case 'requestHeaders':
      return processor.requestHeaders(request.value, {
        config: message.protocolConfig,
        metadata: message.metadataContext,
      })
    case 'requestBody':
      return processor.requestBody(request.value)
    case 'requestTrailers':
      return processor.requestTrailers(request.value)
    case 'responseHeaders':
      return processor.responseHeaders(request.value)
    case 'responseBody':
      return processor.responseBody(request.value)
    case 'responseTrailers':
      return processor.responseTrailers(request.value)
    case undefined:
      throw new UnexpectedMessage('a message without a phase')
  }
}
