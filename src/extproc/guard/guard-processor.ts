// Guards one HTTP exchange on a guarded route: the request, then its reply (DECISIONS 15-24).

import { SEAL_HEADERS } from '../../model/names.js'
import { UNREADABLE_ENCODING } from '../encodings/decode-reply.js'
import type { HeaderChange } from '../session/guard-messages.js'
import type { Processor, ProcessorStream } from '../session/processor.js'
import type { Guard } from '../webhook/compiled-guard.js'
import type { GuardDeps } from '../webhook/guard-deps.js'
import { inPhaseSpan } from '../webhook/phase-span.js'
import {
  busyRequest,
  inspectRequest,
  requestPath,
  requestTooLarge,
  requestTooSlow,
  unreadableRequest,
} from './inspect-request.js'
import { createRequestGuard, type RequestForm } from './request-guard.js'
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

// The form of requests to an LLM: what the request phase does with their headers and bodies.

/** Returns the form of LLM requests on a guarded route. */
const llmRequests = (guard: Guard, deps: GuardDeps): RequestForm => ({
  guard,
  readsRequests: guard.request.length > 0,
  readsReplies: guard.response.length > 0,
  change: () => changeOf(guard),
  refusalOf: ({ attributes, problem }) =>
    problem === undefined ? undefined : unreadableRequest(problem, requestPath(attributes)),
  tooLarge: (attributes) => requestTooLarge(requestPath(attributes)),
  tooSlow: (attributes) => requestTooSlow(requestPath(attributes)),
  busy: (attributes) => busyRequest(requestPath(attributes)),
  undecodable: (attributes) => unreadableRequest(UNREADABLE_ENCODING, requestPath(attributes)),
  inspect: (body, attributes, signal, onAsked) =>
    inPhaseSpan(deps, guard.route, 'request', (own) =>
      inspectRequest(body, { guard, attributes, signal, onAsked }, own),
    ),
})

/**
 * Returns the header changes of a request that goes on. A reply that will be guarded must not be compressed, which
 * costs more work to read, or partial, which cannot be read.
 */
function changeOf({ response, seal }: Guard): HeaderChange {
  const read: HeaderChange =
    response.length === 0
      ? {}
      : { set: { 'accept-encoding': 'identity' }, remove: ['range', 'if-range'] }
  if (seal === undefined) return read
  return { ...read, set: { ...read.set, [SEAL_HEADERS.guard]: seal }, choosesRoute: true }
}
