// The form of requests to an LLM: what the request phase does with their headers and bodies.

import type { Attributes } from '../../cel/attributes.js'
import { SEAL_HEADERS } from '../../ir/names.js'
import type { HeaderChange } from '../stream/guard-messages.js'
import type { Guard } from '../webhook/compiled-guard.js'
import type { GuardDeps } from '../webhook/guard-deps.js'
import { inPhaseSpan } from '../webhook/phase-span.js'
import {
  busyRequest,
  inspectRequest,
  type RequestFinding,
  requestPath,
  requestTooLarge,
  requestTooSlow,
  unreadableRequest,
} from './inspect-request.js'
import type { Refused } from './inspection.js'
import type { GuardedRequest } from './request-attributes.js'
import type { RequestForm } from './request-guard.js'

/** Returns the form of LLM requests on a guarded route. */
export const llmRequests = (guard: Guard, deps: GuardDeps): RequestForm =>
  new LlmRequests(guard, deps)

class LlmRequests implements RequestForm {
  constructor(
    readonly guard: Guard,
    private readonly deps: GuardDeps,
  ) {}

  get readsRequests(): boolean {
    return this.guard.request.length > 0
  }

  get readsReplies(): boolean {
    return this.guard.response.length > 0
  }

  change(): HeaderChange {
    return changeOf(this.guard)
  }

  refusalOf({ attributes, problem }: GuardedRequest): Refused | undefined {
    return problem === undefined ? undefined : unreadableRequest(problem, requestPath(attributes))
  }

  tooLarge(attributes: Attributes): Refused {
    return requestTooLarge(requestPath(attributes))
  }

  tooSlow(attributes: Attributes): Refused {
    return requestTooSlow(requestPath(attributes))
  }

  busy(attributes: Attributes): Refused {
    return busyRequest(requestPath(attributes))
  }

  inspect(
    ...[body, attributes, signal, onAsked]: Parameters<RequestForm['inspect']>
  ): Promise<RequestFinding> {
    const { guard, deps } = this
    return inPhaseSpan(deps, guard.route, 'request', (own) =>
      inspectRequest(body, { guard, attributes, signal, onAsked }, own),
    )
  }
}

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
