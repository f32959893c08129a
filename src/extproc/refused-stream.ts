// Writes lines of the decision log about requests that are denied because an ext_proc stream has failed, or its body is
// not passed on.

import { type DecisionLog, hider, requestFields, traceFields } from '../decision-log.js'
import type { UncheckedBodyEntry } from '../ir/proc-entry.js'
import type { RefusedBody } from './mcp/unchecked-body.js'
import type { CompiledProcEntry } from './proc-table.js'
import { loggedRequest } from './stream/logged-request.js'
import type { FailedStream } from './stream/process-stream.js'
import { placeOfWebhooks } from './webhook/refusal-log.js'

const MESSAGE = 'stream refusal'

interface LineDeps {
  readonly decisions?: DecisionLog | undefined
  /** What Envoy sent with its own call. */
  readonly traceparent?: string | undefined
}

/** Logs a stream that has failed. Copies for audits deny nothing, and have no line. */
export function logFailedStream(
  { decisions, traceparent }: LineDeps,
  entry: CompiledProcEntry,
  { reason, problem, phase, headers }: FailedStream,
): void {
  if (entry.type === 'guard-audit' || entry.type === 'mcp-guard-audit') return
  const { route } = entry
  // The status of a reply may have been sent before.
  const status = phase === 'request' ? { status: 503 } : {}
  const key = { decision: 'deny', reason, route, phase, problem }
  decisions?.refused(key, MESSAGE, () => {
    const request = loggedRequest(headers)
    return {
      ...{ decision: 'deny', reason, ...status, route, phase, problem },
      ...policyOf(entry, phase),
      ...requestFields(request, hider(request), traceparent),
    }
  })
}

const policyOf = (entry: CompiledProcEntry, phase: FailedStream['phase']): object | undefined =>
  entry.type === 'lists' || entry.type === 'well-known' || entry.type === 'unchecked-body'
    ? entry.policy
    : placeOfWebhooks(entry[phase])

/** Logs the body of a message that is not passed on to its check. */
export function logRefusedBody(
  { decisions, traceparent }: LineDeps,
  { route, policy }: Pick<UncheckedBodyEntry, 'route' | 'policy'>,
  { reason, status, headers }: RefusedBody,
): void {
  const shared = { decision: 'deny', reason, status, route }
  decisions?.refused(shared, 'body refusal', () => {
    const request = loggedRequest(headers)
    return { ...shared, ...policy, ...requestFields(request, hider(request), traceparent) }
  })
}

/**
 * Logs a stream whose route is not known, before any of its messages. keys: as Envoy sent them. gateway: the only Gateway
 * that the caller serves.
 */
export function logUnknownRoute(
  { decisions, traceparent }: LineDeps,
  keys: readonly string[],
  gateway: string | undefined,
): void {
  const shared = { decision: 'deny', reason: 'unknown-route', status: 503, route: 'unknown' }
  decisions?.refused(shared, MESSAGE, () => {
    const hide = hider({ headers: new Map() })
    return {
      ...shared,
      key: hide(keys.join(' ')),
      ...(gateway !== undefined && { gateway }),
      ...traceFields(traceparent),
    }
  })
}
