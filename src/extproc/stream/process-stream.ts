// One ext_proc stream: messages to the processor one at a time, answers back, and an end that is never OK while an answer is owed.

import { once } from 'node:events'
import { status, type ServerDuplexStream } from '@grpc/grpc-js'
import type {
  ProcessingRequest,
  ProcessingResponse,
} from '../../grpc/generated/envoy/service/ext_proc/v3/external_processor_pb.js'
import { UnexpectedMessage, type Processor, type ProcessorStream } from './processor.js'

export type ProcessCall = ServerDuplexStream<ProcessingRequest, ProcessingResponse>

export interface ProcessStream {
  /** Ends it with this status; nothing happens when it has ended. Envoy refuses the request then. */
  fail(code: status, details: string): void
}

export interface ProcessStreamDeps {
  createProcessor(stream: ProcessorStream): Processor
  /** The processor threw: a bug, or a message that it does not expect. */
  onError(error: unknown): void
  /** Called once, however the stream ended. */
  onEnd(): void
}

export const runProcessStream = (call: ProcessCall, deps: ProcessStreamDeps): ProcessStream => {
  const ended = new AbortController()
  // One message after the other, in the order in which they came.
  let turn: Promise<void> = Promise.resolve()

  const end = (finish: () => void): void => {
    if (ended.signal.aborted) return
    ended.abort()
    finish()
    deps.onEnd()
  }
  const fail = (code: status, details: string): void =>
    end(() => call.emit('error', { code, details }))
  const send = (response: ProcessingResponse): void => {
    if (!ended.signal.aborted) call.write(response)
  }
  const processor = deps.createProcessor({ send, signal: ended.signal })

  const take = async (message: ProcessingRequest): Promise<void> => {
    if (ended.signal.aborted) return
    try {
      await dispatch(processor, message)
      await written(call, ended.signal)
    } catch (error) {
      if (ended.signal.aborted) return
      deps.onError(error)
      fail(status.INTERNAL, 'the request could not be processed')
    } finally {
      call.resume()
    }
  }
  call.on('data', (message: ProcessingRequest) => {
    call.pause()
    turn = turn.then(() => take(message))
  })
  // Envoy has closed its side. OK would let a request pass whose answer is still owed.
  call.on('end', () => {
    turn = turn.then(() => {
      if (processor.isDone()) end(() => call.end())
      else fail(status.UNAVAILABLE, 'the stream was closed before its answer')
    })
  })
  call.on('cancelled', () => end(() => {}))
  call.on('error', () => end(() => {}))
  return { fail }
}

/** Resolves when Envoy takes what was sent: no more is read from it before, so no more is held here. */
const written = async (call: ProcessCall, signal: AbortSignal): Promise<void> => {
  if (!call.writableNeedDrain || signal.aborted) return
  // Rejects where the stream has ended: then nothing is to be waited for.
  await once(call, 'drain', { signal }).catch(() => {})
}

const dispatch = (processor: Processor, message: ProcessingRequest): Promise<void> | void => {
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
