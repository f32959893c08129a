// The form of requests to an LLM: what the request phase does with their headers and bodies.

import { SEAL_HEADERS } from '../../ir/names.js'
import type { HeaderChange } from '../stream/guard-messages.js'
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
import type { RequestForm } from './request-guard.js'

/** Returns the form of LLM requests on a guarded route. */
export const llmRequests = (guard: Guard, deps: GuardDeps): RequestForm => ({
  guard,
  readsRequests: guard.request.length > 0,
  readsReplies: guard.response.length > 0,
  change: () => changeOf(guard),
  refusalOf: ({ attributes, problem }) =>
    problem === undefined ? undefined : unreadableRequest(problem, requestPath(attributes)),
  tooLarge: (attributes) => requestTooLarge(requestPath(attributes)),
  tooSlow: (attributes) => requestTooSlow(requestPath(attributes)),
  busy: (attributes) => busyRequest(requestPath(attributes)),
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
