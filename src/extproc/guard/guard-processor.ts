// Guards one HTTP exchange on a guarded route: the request, then its reply (DECISIONS 15-24).

import type { Processor, ProcessorStream } from '../stream/processor.js'
import type { Guard } from '../webhook/compiled-guard.js'
import type { GuardDeps } from '../webhook/guard-deps.js'
import { llmRequests } from './llm-requests.js'
import { createRequestGuard } from './request-guard.js'
import { createResponseGuard } from './response-guard.js'

/** Creates the processor of a guarded exchange. */
export function createGuardProcessor(
  guard: Guard,
  stream: ProcessorStream,
  deps: GuardDeps,
): Processor {
  const request = createRequestGuard(llmRequests(guard, deps), stream, deps)
  const response = createResponseGuard(guard, request, stream, deps)
  return {
    requestHeaders: (message, first) => request.headers(message, first),
    requestBody: (message) => request.body(message),
    requestTrailers: () => request.trailers(),
    responseHeaders: (message, first) => response.headers(message, first),
    responseBody: (message) => response.body(message),
    responseTrailers: () => response.trailers(),
    isDone: () => request.isRefused() || response.isDone(),
  }
}
