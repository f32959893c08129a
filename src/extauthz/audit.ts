// Judges allowed requests by the policies of mode Audit. The decision is logged and counted, and changes nothing
// (decision 25m).

import { errorKind } from '../kit/errors.js'
import type { CompiledEntry } from './authz-table.js'
import type { CheckCall, CheckContext, CheckOptions } from './check-context.js'
import { openCheckRequest } from './check-request.js'
import { decide } from './decide.js'
import { type Decision, refuseUnchecked } from './decision.js'
import { type Decided, logDecision } from './decision-line.js'
import type { RememberedToken } from './token/token-memory.js'

/** Maximum duration of an audit. No request waits for it. */
const AUDIT_MS = 2_000

/**
 * Returns the decision, with the claims of a token that was verified at once if no other policy concerns the route.
 * Elsewhere the audit follows the answer, so that it delays nothing, unless access logs are to have its reason.
 */
export function audited(
  context: CheckContext,
  decided: Decided,
  { entry, audit }: CompiledEntry,
  decision: Decision,
): Decision {
  if (audit === undefined || decision.type !== 'allow') return decision
  const { auditsFirst = false } = context.options
  if (entry.isAudited !== true && !auditsFirst) {
    setImmediate(() => judge(context, decided, audit))
    return decision
  }
  let token: RememberedToken | undefined
  const onVerified = (verified: RememberedToken): void => void (token = verified)
  const made = judge({ ...context, onVerified }, decided, audit)
  return {
    ...decision,
    ...(entry.isAudited === true && token && { token }),
    ...(auditsFirst && made?.type === 'reply' && { auditReason: made.reason }),
  }
}

/** Returns the decision if it is made at once. Never throws. */
function judge(
  context: CheckContext,
  { bytes, call: waiting }: Decided,
  audit: CompiledEntry,
): Decision | undefined {
  const { options } = context
  const call: CheckCall = {
    isCancelled: () => false,
    deadline: options.now() + AUDIT_MS,
    metadata: (name) => waiting?.metadata?.(name) ?? [],
  }
  const conclude = (decision: Decision): void => record(options, { bytes, call }, audit, decision)
  const fail = (error: unknown): void => conclude(failed(context, error))
  try {
    const decision = decide(context, openCheckRequest(bytes), audit, call)
    if (decision instanceof Promise) {
      decision.then(conclude, fail)
      return undefined
    }
    conclude(decision)
    return decision
  } catch (error) {
    fail(error)
    return undefined
  }
}

/** Logs only the kind of the error: its message may contain data of the request. */
function failed({ options, limit }: CheckContext, error: unknown): Decision {
  try {
    const kind = errorKind(error)
    const leftOut = limit.take(`audit failed ${kind}`)
    if (leftOut !== undefined) options.logger.error({ error: kind, leftOut }, 'an audit failed')
  } catch {
    // The logger itself may have failed.
  }
  return refuseUnchecked('internal-error')
}

function record(
  { metrics, decisions, now }: CheckOptions,
  decided: Decided,
  { entry }: CompiledEntry,
  decision: Decision,
): void {
  try {
    metrics.audited(entry.route, decision.type === 'allow' ? 'allow' : 'deny', decision.reason)
    if (decisions !== undefined && decision.type === 'reply')
      logDecision(decisions, decided, entry, decision, { now, mode: 'audit' })
  } catch {
    // Bookkeeping must not change a decision.
  }
}
