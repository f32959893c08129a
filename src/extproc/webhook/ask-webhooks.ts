// Asks the webhooks of a phase about texts, in order; each sees the changes of the previous one. The first reject, or
// the first failure of a webhook that fails closed, ends the phase (decisions 16, 19, 23).

import type { Attributes } from '../../cel/attributes.js'
import { Budget } from '../../cel/budget.js'
import type { CostlyExpressions } from '../../cel/costly-expressions.js'
import { type DecisionLog, hider } from '../../decision-log.js'
import type { Ending } from '../../ending.js'
import type { Phase } from '../../ir/proc-entry.js'
import type { Entry } from '../../llm/text/conversation.js'
import type { LogLimit } from '../../log-limit.js'
import type { Logger } from '../../logger.js'
import type { WebhookPools } from '../../remote/webhook-pools.js'
import type { Result } from '../../result.js'
import type { Trace, TraceSpan } from '../../tracing.js'
import { inTurns, Pace, type Work } from '../../turns.js'
import type { HeldBytes } from '../stream/held-bytes.js'
import { callWebhook } from './call-webhook.js'
import { type CompiledWebhook, isShown } from './compiled-guard.js'
import { exchangeFields, NO_REQUEST } from './exchange-fields.js'
import type { GuardMetrics, Outcome } from './guard-metrics.js'
import { badStatus, failedCall, givenUp, invalidAnswer, type NoVerdict } from './no-verdict.js'
import { shownReason } from './verdict-reason.js'
import { readVerdict, type Shown, type Verdict } from './webhook-answer.js'
import {
  isLastHop,
  type ShownTool,
  type WebhookRequest,
  webhookRequest,
} from './webhook-request.js'

/** What guards need to ask webhooks. */
export interface GuardDeps {
  readonly pools: WebhookPools
  /** --max-body-bytes: limit of requests, of replies, and of a webhook's answer. */
  readonly maxBodyBytes: number
  /** --held-bytes: budget of all bodies together. */
  readonly heldBytes: HeldBytes
  /** --body-timeout: milliseconds for the whole body of a request. */
  readonly bodyTimeoutMs: number
  /** --expose-reason: whether clients get the reasons of rejects. */
  readonly exposesReason?: boolean
  /** Header expressions that cost much, and the budget of all those of one call together. */
  readonly costly: CostlyExpressions
  /** Called when that budget is exceeded, which leaves headers out. */
  headerBudgetExceeded?(route: string, webhook: string): void
  readonly metrics: GuardMetrics
  /** Whether the table still has an entry of this key. Absent: it has all. */
  readonly isServed?: (key: string) => boolean
  /** Returns milliseconds, for durations. */
  now(): number
  readonly logger: Logger
  /** Limits lines of the logger that clients can cause. */
  readonly limit: LogLimit
  /** Logs verdicts that change or reject, and refusals. Absent: they are not logged. */
  readonly decisions?: DecisionLog | undefined
  /** The trace of this stream. Absent: nothing is traced. */
  readonly trace?: Trace | undefined
  /** What Envoy sent with its own call, traced or not; for logs. */
  readonly traceparent?: string | undefined
  /** The span of the phase, which calls of webhooks belong to. */
  readonly span?: TraceSpan | undefined
  /** Set if verdicts change nothing. */
  readonly mode?: 'audit'
}

/** One text that may be shown. */
export interface AskedEntry extends Pick<Entry, 'kind' | 'role' | 'content' | 'isJson' | 'place'> {
  /** Whether a change can be written back; absent: if it has a place. */
  readonly isWritable?: boolean
}

/** What the webhooks of a phase are asked. */
export interface Question {
  /** NAMESPACE/NAME of the HTTPRoute. */
  readonly route: string
  readonly phase: Phase
  readonly webhooks: readonly CompiledWebhook[]
  readonly entries: readonly AskedEntry[]
  readonly attributes: Attributes
  /** The subject of an MCP message; absent: LLM traffic. */
  readonly tool?: ShownTool
  /** Whether the text has already passed; changing it is not a valid verdict then. */
  readonly hasPassed?: boolean
  /** Aborts the question. */
  readonly signal: Ending
}

/** The combined verdict of the webhooks of a phase. */
export type PhaseVerdict =
  /** contents: one per entry. needed: characters at the end of a window that a webhook still needs. */
  | { readonly type: 'pass'; readonly contents: readonly string[]; readonly needed: number }
  | Reject
  | Unavailable
  /** Nobody waits for the answer any more. */
  | { readonly type: 'aborted' }

/** text: may be "". reason: for the client, present only with --expose-reason. */
export interface Reject {
  readonly type: 'reject'
  readonly status: number
  readonly text: string
  readonly reason?: string
}

/** A webhook that fails closed has given no verdict. */
export interface Unavailable {
  readonly type: 'unavailable'
  readonly webhook: CompiledWebhook
}

/** Asks the webhooks of a phase in order. */
export async function askWebhooks(question: Question, deps: GuardDeps): Promise<PhaseVerdict> {
  const { entries } = question
  let contents: readonly string[] = entries.map(({ content }) => content)
  let needed = 0
  for (const compiled of question.webhooks) {
    const { failureMode, holdBack } = compiled.webhook
    const indexes = entries.flatMap(({ kind }, index) => (isShown(kind, compiled) ? [index] : []))
    if (indexes.length === 0 && entries.length > 0) continue
    const showing = inTurns(shownEntries(entries, contents, indexes), question.signal)
    const shown = showing instanceof Promise ? await showing : showing
    if (shown === undefined) return { type: 'aborted' }
    const verdict = await askOne(question, compiled, shown, deps)
    if (question.signal.aborted) return { type: 'aborted' }
    if (!verdict.ok && (failureMode === 'FailClosed' || isLastHop(question.attributes)))
      return { type: 'unavailable', webhook: compiled }
    const passing = verdict.ok ? verdict.value : ALLOW
    if (passing.type === 'reject') return rejectOf(passing, deps)
    needed = Math.max(needed, passing.holdBack ?? holdBack - 1)
    if (passing.type === 'allow') continue
    const { contents: given } = passing
    const changed = [...contents]
    indexes.forEach((index, at) => (changed[index] = given[at] ?? contents[index] ?? ''))
    contents = changed
  }
  return { type: 'pass', contents, needed }
}

const ALLOW: Verdict = { type: 'allow' }

const rejectOf = (
  { type, status, text, reason }: Reject,
  { exposesReason }: GuardDeps,
): Reject => ({
  ...{ type, status, text },
  ...(exposesReason === true && reason !== undefined && { reason: shownReason(reason) }),
})

function* shownEntries(
  entries: readonly AskedEntry[],
  contents: readonly string[],
  indexes: readonly number[],
): Work<readonly Shown[]> {
  const pace = new Pace()
  const shown: Shown[] = []
  for (const index of indexes) {
    if (pace.isDue()) yield
    const entry = entries[index]
    shown.push({
      role: entry?.role ?? '',
      content: contents[index] ?? '',
      isJson: entry?.isJson === true,
      isWritable: entry?.isWritable ?? entry?.place !== undefined,
    })
  }
  return shown
}

async function askOne(
  question: Question,
  compiled: CompiledWebhook,
  shown: readonly Shown[],
  deps: GuardDeps,
): Promise<Result<Verdict, NoVerdict>> {
  const start = deps.now()
  const verdict = await verdictOf(question, compiled, shown, deps)
  if (question.signal.aborted) return verdict
  const { failureMode, backend } = compiled.webhook
  const outcome: Outcome = verdict.ok
    ? verdict.value.type
    : failureMode === 'FailOpen'
      ? 'fail-open'
      : 'fail-closed'
  const ms = deps.now() - start
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
  return verdict
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

async function verdictOf(
  question: Question,
  compiled: CompiledWebhook,
  shown: readonly Shown[],
  deps: GuardDeps,
): Promise<Result<Verdict, NoVerdict>> {
  const { phase, hasPassed, signal } = question
  const { backend, target, maxConnections, keepAliveSeconds, deadlineMs } = compiled.webhook
  if (deps.costly.has(compiled)) await deps.costly.turn(compiled)
  if (signal.aborted) return givenUp()
  const asking = inTurns(requestWithinBudget(question, compiled, shown, deps), signal)
  const request = asking instanceof Promise ? await asking : asking
  if (request === undefined) return givenUp()
  const answer = await callWebhook(deps, {
    ...{ backend, target, maxConnections, keepAliveSeconds, phase },
    ...request,
    ...{ timeoutMs: deadlineMs, maxBytes: deps.maxBodyBytes, signal },
  })
  if (!answer.ok) return failedCall(answer.error)
  const { status, body } = answer.value
  if (status < 200 || status > 299) return badStatus(status)
  const reading = readVerdict(body, phase, shown, signal)
  const verdict = reading instanceof Promise ? await reading : reading
  if (!verdict.ok) return invalidAnswer(verdict.error)
  return verdict.value.type === 'modify' && hasPassed === true
    ? invalidAnswer('it changes what has passed already, as a webhook of mode Async cannot')
    : verdict
}

function* requestWithinBudget(
  { route, phase, attributes, tool }: Question,
  compiled: CompiledWebhook,
  shown: readonly Shown[],
  deps: GuardDeps,
): Work<WebhookRequest> {
  const budget = new Budget(deps.costly.limits)
  const request = yield* webhookRequest(compiled, phase, shown, attributes, budget, tool)
  deps.costly.note(compiled, budget)
  if (budget.isSpent) deps.headerBudgetExceeded?.(route, compiled.webhook.backend)
  return request
}
