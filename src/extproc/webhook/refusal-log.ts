// Logs what guards refuse without a verdict, without any text of the prompt or reply, and budgets that were exceeded.

import type { Attributes } from '../../extauthz/cel/attributes.js'
import type { LogLimit } from '../../kit/log-limit.js'
import type { Logger } from '../../kit/logger.js'
import type { Phase } from '../../model/proc-entry.js'
import { kindOf, REJECTED } from '../session/refusal-metadata.js'
import type { CompiledWebhook, Guard } from './compiled-guard.js'
import { exchangeFields, verifiedCaller } from './exchange-fields.js'
import type { GuardDeps } from './guard-deps.js'

/** The phase of an exchange that is refused. */
export interface RefusedPhase {
  readonly guard: Pick<Guard, 'route' | 'request' | 'response'>
  readonly phase: Phase
  readonly attributes: Attributes
}

/** What a line about a refusal shows. */
export interface LoggedRefusal {
  /** Absent: the status of the reply has been sent already. */
  readonly status?: number
  /** The code of the error, such as guardrail_busy. */
  readonly reason: string
  /** Without any text of the prompt or reply. */
  readonly problem: string
  readonly subject?: RefusalSubject | undefined
}

/** What a refusal is about, as far as it is known. */
export interface RefusalSubject {
  /** The webhook that gave no verdict. */
  readonly webhook?: CompiledWebhook
  /** Name of the tool, prompt or resource. */
  readonly tool?: string | undefined
}

/** Returns what is logged of a reply in place of the one that was refused. */
export const loggedReply = ({
  reply,
  problem,
  subject,
}: Pick<LoggedRefusal, 'problem' | 'subject'> & {
  readonly reply: { readonly status: number; readonly details: string }
}): LoggedRefusal => ({
  status: reply.status,
  reason: kindOf(reply),
  problem,
  subject,
})

/** Writes a line of the decision log; a reject has the line of its verdict. */
export function logRefusal(
  { decisions, traceparent, mode }: Pick<GuardDeps, 'decisions' | 'traceparent' | 'mode'>,
  { guard, phase, attributes }: RefusedPhase,
  { status, reason, problem, subject = {} }: LoggedRefusal,
): void {
  if (decisions === undefined || reason === REJECTED) return
  const { route } = guard
  const webhook = subject.webhook?.webhook.backend
  decisions.refused({
    message: 'guardrail refusal',
    key: { mode, decision: 'deny', reason, status, route, webhook, phase, problem },
    caller: () => verifiedCaller(attributes),
    fields: () => ({
      ...(mode !== undefined && { mode }),
      decision: 'deny',
      reason,
      ...(status !== undefined && { status }),
      route,
      phase,
      problem,
      ...(webhook !== undefined && { webhook }),
      ...(subject.webhook?.place ?? placeOfWebhooks(guard[phase])),
      ...exchangeFields(attributes, { traceparent, tool: subject.tool, claims: decisions.claims }),
    }),
  })
}

/** Returns the place of the only webhook, or of the list that all webhooks are from. */
export function placeOfWebhooks(webhooks: readonly CompiledWebhook[]): object {
  const [place] = webhooks.map((webhook) => webhook.place)
  if (place === undefined || webhooks.length === 1) return place ?? {}
  const { policy, source, rule } = place
  const isShared = webhooks.every((webhook) => webhook.place?.policy === policy)
  return isShared ? { policy, source, rule: rule.replace(/\[\d+\]$/, '') } : {}
}

/** Logs header expressions that exceeded their budget. Each is counted, but only some are logged. */
export const createBudgetLog =
  (logger: Logger, limit: LogLimit, count: (webhook: string) => void) =>
  (route: string, webhook: string): void => {
    count(webhook)
    const leftOut = limit.take(`budget ${route} ${webhook}`)
    if (leftOut === undefined) return
    logger.warn(
      { route, webhook, leftOut },
      'the header expressions of a webhook exceeded their budget; headers were left out',
    )
  }
