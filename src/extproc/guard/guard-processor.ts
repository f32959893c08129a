// Guards one HTTP exchange on a guarded route: the request, then its reply (DECISIONS 15-24).

import type { BodyPart, HeadersPart } from '../stream/process-message.js'
import type { FirstMessage, Processor, ProcessorStream } from '../stream/processor.js'
import type { Guard } from '../webhook/compiled-guard.js'
import type { GuardDeps } from '../webhook/guard-deps.js'
import { llmRequests } from './llm-requests.js'
import { createRequestGuard, type RequestGuard } from './request-guard.js'
import { createResponseGuard, type ResponseGuard } from './response-guard.js'

/** Creates the processor of a guarded exchange. */
export const createGuardProcessor = (
  guard: Guard,
  stream: ProcessorStream,
  deps: GuardDeps,
): Processor => new GuardProcessor(guard, stream, deps)

class GuardProcessor implements Processor {
  private readonly request: RequestGuard
  private readonly response: ResponseGuard

  constructor(guard: Guard, stream: ProcessorStream, deps: GuardDeps) {
    this.request = createRequestGuard(llmRequests(guard, deps), stream, deps)
    this.response = createResponseGuard(guard, this.request, stream, deps)
  }

  requestHeaders(message: HeadersPart, first: FirstMessage): Promise<void> | void {
    return this.request.headers(message, first)
  }

  requestBody(message: BodyPart): Promise<void> | void {
    return this.request.body(message)
  }

  requestTrailers(): Promise<void> | void {
    return this.request.trailers()
  }

  responseHeaders(message: HeadersPart, first: FirstMessage): Promise<void> | void {
    return this.response.headers(message, first)
  }

  responseBody(message: BodyPart): Promise<void> | void {
    return this.response.body(message)
  }

  responseTrailers(): Promise<void> | void {
    return this.response.trailers()
  }

  isDone(): boolean {
    return this.request.isRefused() || this.response.isDone()
  }
}
