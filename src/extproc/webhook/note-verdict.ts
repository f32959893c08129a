// Counts and logs the verdicts of webhooks.

import { hider } from '../../decision-log.js'
import type { Phase } from '../../ir/proc-entry.js'
import type { Result } from '../../result.js'
import type { CompiledWebhook } from './compiled-guard.js'
import { exchangeFields, NO_REQUEST } from './exchange-fields.js'
import type { GuardDeps } from './guard-deps.js'
import type { Outcome } from './guard-metrics.js'
import type { NoVerdict } from './no-verdict.js'
import type { Question } from './question.js'
import { shownReason } from './verdict-reason.js'
import type { Verdict } from './webhook-answer.js'

/** Counts the verdict, or that there is none, and logs it. */
export function noteVerdict(
  question: Question,
  compiled: CompiledWebhook,
  verdict: Result<Verdict, NoVerdict>,
  ms: number,
  deps: GuardDeps,
): void {
  const { failureMode, backend } = compiled.webhook
  const outcome: Outcome = verdict.ok
    ? verdict.value.type
    : failureMode === 'FailOpen'
      ? 'fail-open'
      : 'fail-closed'
  const { route, phase } = question
  const mode = deps.mode === undefined ? {} : { mode: deps.mode }
  const why = verdict.ok ? {} : { reason: verdict.error.reason }
  deps.metrics.verdict({ webhook: backend, phase, outcome, ...why, ...mode }, ms / 1000)
  const fields = { ...mode, route, webhook: backend, phase, outcome, ms }
  if (!verdict.ok) logUnavailable(question, compiled, { ...fields, ...verdict.error }, deps)
  // Most verdicts are allows, and metrics count them.
  else if (outcome === 'allow')
    (deps.logger.plain ?? deps.logger).debug(fields, 'guardrail verdict')
  else logVerdict(question, compiled, { ...fields, reason: verdict.value.reason }, deps)
}

function logUnavailable(
  question: Question,
  compiled: CompiledWebhook,
  { reason, problem, ...fields }: VerdictFields & NoVerdict,
  { logger, limit, traceparent }: GuardDeps,
): void {
  const { mode = '', route, webhook, phase } = fields
  const leftOut = limit.take(`unavailable ${mode} ${route} ${webhook} ${phase} ${reason}`)
  if (leftOut === undefined) return
  const line = { ...fields, ...compiled.place, ...fieldsOf(question, { traceparent }) }
  ;(logger.plain ?? logger).warn({ ...line, problem, leftOut }, 'guardrail webhook is unavailable')
}

/** Logs a verdict that changes or rejects. */
function logVerdict(
  question: Question,
  compiled: CompiledWebhook,
  { reason, ...fields }: VerdictFields,
  { decisions, traceparent }: GuardDeps,
): void {
  const { mode, route, webhook, phase, outcome } = fields
  const decision = outcome === 'reject' ? 'deny' : 'change'
  const key = { mode, decision, route, webhook, phase, outcome }
  decisions?.refused(key, 'guardrail verdict', () => {
    const hide = hider(question.attributes.request ?? NO_REQUEST)
    return {
      decision,
      ...fields,
      ...(reason !== undefined && { reason: shownReason(hide(reason)) }),
      ...compiled.place,
      ...fieldsOf(question, { traceparent, claims: decisions.claims }),
    }
  })
}

const fieldsOf = (
  { attributes, tool }: Question,
  options: Parameters<typeof exchangeFields>[1],
): object => exchangeFields(attributes, { tool: tool?.name, ...options })

interface VerdictFields {
  readonly mode?: 'audit'
  readonly route: string
  readonly webhook: string
  readonly phase: Phase
  readonly outcome: Outcome
  readonly ms: number
  /** Reason as the webhook wrote it. */
  readonly reason: string | undefined
}
