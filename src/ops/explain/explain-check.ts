// Explains the check of a request on a protected route, and the audit that follows where policies of mode Audit ask for
// one.

import type { Decision, Reason } from '../../extauthz/decision.js'
import { type Hide, hider } from '../../kit/decision-log.js'
import type { AuthzEntry } from '../../model/authz-entry.js'
import type { Ir } from '../../model/ir.js'
import { PARTIAL_BODY_HEADER } from '../../model/names.js'
import type { Route } from '../../model/route.js'
import { adviceFor } from './advice.js'
import { checkMessage } from './check-message.js'
import { explainStep } from './check-steps.js'
import type { ExplainRequest } from './explain-request.js'
import type { ExplainedAnswer, ExplainedAudit, ExplainedStep, Explanation } from './explanation.js'
import type { Field } from './routing/client-request.js'
import type { RoutedRequest } from './routing/match-route.js'
import { tracedCheck, type TracedCheckDeps, type TracedDecision } from './traced-check.js'

/** The configuration with which checks are explained. */
export interface CheckModel extends Omit<TracedCheckDeps, 'entry'> {
  readonly ir: Pick<Ir, 'authz'>
  readonly trustedHops: number
  readonly isOffline: boolean
}

/** A protected route that a request has reached. */
export interface CheckPlace {
  readonly authz: AuthzEntry
  readonly scheme: 'http' | 'https'
  readonly found: { readonly route: Route; readonly request: RoutedRequest }
}

/** The decision with its explanation; answer: for an allowed request, only its reason is meant. */
export type ExplainedCheck = Pick<Explanation, 'steps' | 'changes' | 'audit'> & {
  readonly decision: Decision
  readonly answer: ExplainedAnswer
}

/** Explains the check, and the audit if the request is allowed, as in the server. */
export async function explainCheck(
  model: CheckModel,
  request: ExplainRequest,
  place: CheckPlace,
): Promise<ExplainedCheck> {
  const { authz, scheme, found } = place
  const { sourceAddress } = request
  const bytes = checkMessage({
    key: authz.key,
    scheme,
    sourceAddress,
    trustedHops: model.trustedHops,
    ...withBody(found, request.body),
  })
  const entry = (key: string) => model.ir.authz.find((each) => each.key === key)
  const traced = await tracedCheck(bytes, authz, { ...model, entry })
  const about = (each: AuthzEntry, made: TracedDecision) =>
    explainDecision(made, { entry: each, hide: hideIn(request), isOffline: model.isOffline })
  const { key, route, paths, audit } = authz
  const { steps, changes } = about(authz, traced)
  // A running Gatehouse gives the same answer, and quotes no rule.
  const unquoted = explainDecision(traced, {
    entry: authz,
    hide: hideIn(request),
    isOffline: false,
  }).steps
  return {
    decision: traced.decision,
    answer: answerOf(traced.decision, unquoted),
    steps,
    changes,
    ...(audit &&
      traced.audit && {
        audit: {
          ...auditOf(traced.audit.decision),
          ...about({ key, route, paths, ...audit }, traced.audit),
        },
      }),
  }
}

interface Described {
  readonly entry: AuthzEntry
  readonly hide: Hide
  readonly isOffline: boolean
}

const explainDecision = ({ decision, steps }: TracedDecision, context: Described) => ({
  steps: steps.map((step) => explainStep(step, context)),
  changes: adviceFor({ ...context, decision, steps }),
})

const auditOf = (decision: Decision): Omit<ExplainedAudit, 'steps' | 'changes'> => ({
  decision: decision.type === 'allow' ? 'allow' : 'deny',
  reason: decision.reason,
  ...(decision.type === 'reply' && { status: decision.reply.status }),
})

function answerOf(decision: Decision, steps: readonly ExplainedStep[]): ExplainedAnswer {
  const { reason } = decision
  if (decision.type === 'allow') return { from: 'backend', reason, text: 'allowed' }
  const { status, headers, body } = decision.reply
  const cause = failedStep(steps)?.text ?? CAUSES[reason]
  const text = cause === undefined ? 'denied' : `denied: ${cause}`
  return { from: 'Gatehouse', status, reason, headers, body, text }
}

/** Returns the step that decides a denial. What fails before a successful authentication does not: mode Permissive. */
function failedStep(steps: readonly ExplainedStep[]): ExplainedStep | undefined {
  const authenticated = steps.findLastIndex(
    ({ name, result }) => name === 'authentication' && result === 'passed',
  )
  return steps.slice(authenticated + 1).find(({ result }) => result === 'failed')
}

/** Causes that are no step's. */
const CAUSES: Partial<Readonly<Record<Reason, string>>> = {
  'no-rule-allows': 'no Allow rule is true',
  'broken-policy': 'a policy of the route is not valid',
  'no-policy': 'no policy decides who may use this route, and one is required',
  'body-not-sent': 'the rules read the body, which did not arrive',
  'body-too-large': 'the rules read the body, which is too large',
  'header-mismatch': 'headers of the request do not agree with its body',
  'rule-budget': 'the rules take too long for this request',
}

/** Returns the request and the body that Envoy sends with it: none, all, or for audits alone as much as it may. */
function withBody(
  { route, request }: CheckPlace['found'],
  body: Uint8Array | undefined,
): { readonly request: RoutedRequest; readonly body?: Uint8Array } {
  if (body === undefined) return { request }
  const limit = route.authzBodyBytes
  const hasLength = request.headers.some(([name]) => name === 'content-length')
  const length: readonly Field[] = hasLength ? [] : [['content-length', String(body.length)]]
  const isCut = limit !== undefined && body.length > limit
  const cut: readonly Field[] = isCut ? [[PARTIAL_BODY_HEADER, 'true']] : []
  const headers = [...request.headers, ...length, ...cut]
  return {
    request: { ...request, headers },
    ...(limit !== undefined && { body: body.subarray(0, limit) }),
  }
}

function hideIn({ headers }: ExplainRequest): Hide {
  const all = new Map<string, readonly string[]>()
  for (const [name, value] of headers) all.set(name, [...(all.get(name) ?? []), value])
  return hider({ headers: all })
}
