// Asks the webhooks of a phase about texts, in order; each sees the changes of the previous one. The first reject, or
// the first failure of a webhook that fails closed, ends the phase (decisions 16, 19, 23).

import { Budget } from '../../extauthz/cel/budget.js'
import { hider, shownText } from '../../kit/decision-log.js'
import { callAttributes, errorOfStatus } from '../../kit/http/traced-call.js'
import type { CallResult, PooledCall } from '../../kit/http/webhook-call.js'
import type { WebhookPools } from '../../kit/http/webhook-pools.js'
import { err, type Result } from '../../kit/result.js'
import { contextWithin, type Trace, type TraceSpan } from '../../kit/tracing.js'
import { Pace, SLICE_UNITS, type Soon, soonInTurns, type Work } from '../../kit/turns.js'
import type { Phase } from '../../model/proc-entry.js'
import { type CompiledWebhook, isShown } from './compiled-guard.js'
import { exchangeFields, NO_REQUEST, verifiedCaller } from './exchange-fields.js'
import type { GuardDeps } from './guard-deps.js'
import type { Outcome } from './guard-metrics.js'
import {
  badStatus,
  failedCall,
  givenUp,
  invalidAnswer,
  longHeaders,
  type NoVerdict,
} from './no-verdict.js'
import type { AskedEntry, Question } from './question.js'
import { isForbiddenChange, readVerdict, type Shown, type Verdict } from './webhook-answer.js'
import {
  headLength,
  isLastHop,
  MOST_HEAD,
  type WebhookRequest,
  webhookRequest,
} from './webhook-request.js'

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

/** What a change of a text that its provider has signed counts as, with signedTexts: Refuse. */
export const SIGNED_REJECT: Reject = {
  type: 'reject',
  status: 403,
  text: '',
  reason: 'The guardrail would change a text that is signed.',
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
    const showing = soonInTurns(() => shownEntries(entries, contents, indexes), question.signal)
    const shown = showing instanceof Promise ? await showing : showing
    if (shown === undefined) return { type: 'aborted' }
    const verdict = await askOne(question, compiled, shown, deps)
    if (question.signal.aborted) return { type: 'aborted' }
    if (!verdict.ok && (failureMode === 'FailClosed' || verdict.error.isByClient))
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
  type,
  status,
  text,
  ...(exposesReason === true && reason !== undefined && { reason: shownText(reason) }),
})

function shownEntries(
  entries: readonly AskedEntry[],
  contents: readonly string[],
  indexes: readonly number[],
): Soon<readonly Shown[]> {
  return indexes.length <= SLICE_UNITS
    ? indexes.map((index) => shownEntry(entries[index], contents[index]))
    : manyEntries(entries, contents, indexes)
}

function* manyEntries(
  entries: readonly AskedEntry[],
  contents: readonly string[],
  indexes: readonly number[],
): Work<readonly Shown[]> {
  const pace = new Pace()
  const shown: Shown[] = []
  for (const index of indexes) {
    if (pace.isDue()) yield
    shown.push(shownEntry(entries[index], contents[index]))
  }
  return shown
}

const shownEntry = (entry: AskedEntry | undefined, content = ''): Shown => ({
  role: entry?.role ?? '',
  content,
  isJson: entry?.isJson === true,
  isWritable: entry?.isWritable ?? entry?.place !== undefined,
  ...(entry?.part !== undefined && { part: entry.part }),
})

async function askOne(
  question: Question,
  compiled: CompiledWebhook,
  shown: readonly Shown[],
  deps: GuardDeps,
): Promise<Result<Verdict, NoVerdict>> {
  const { signal } = question
  const start = deps.now()
  if (deps.costly.has(compiled)) await deps.costly.turn(compiled)
  if (signal.aborted) return givenUp()
  const asking = soonInTurns(() => requestWithinBudget(question, compiled, shown, deps), signal)
  const request = asking instanceof Promise ? await asking : asking
  if (request === undefined) return givenUp()
  const reading =
    headLength(request) > MOST_HEAD
      ? longHeaders(MOST_HEAD)
      : verdictOf(
          await callWebhook(deps, pooledCall(question, compiled, request, deps)),
          question,
          shown,
        )
  const read = reading instanceof Promise ? await reading : reading
  const verdict =
    !read.ok && isLastHop(question.attributes) ? err({ ...read.error, isByClient: true }) : read
  if (!signal.aborted) noteVerdict(question, compiled, verdict, deps.now() - start, deps)
  return verdict
}

const pooledCall = (
  { phase, signal }: Question,
  { webhook }: CompiledWebhook,
  { method, path, headers, body }: WebhookRequest,
  { maxBodyBytes }: GuardDeps,
): PooledCall => ({
  backend: webhook.backend,
  target: webhook.target,
  maxConnections: webhook.maxConnections,
  keepAliveSeconds: webhook.keepAliveSeconds,
  phase,
  method,
  path,
  headers,
  body,
  timeoutMs: webhook.deadlineMs,
  maxBytes: maxBodyBytes,
  signal,
})

function verdictOf(
  answer: CallResult,
  { phase, hasPassed, signal }: Question,
  shown: readonly Shown[],
): Result<Verdict, NoVerdict> | Promise<Result<Verdict, NoVerdict>> {
  if (!answer.ok) return failedCall(answer.error)
  const { status, body } = answer.value
  if (status < 200 || status > 299) return badStatus(status)
  const reading = readVerdict(body, phase, shown, signal)
  return reading instanceof Promise
    ? reading.then((verdict) => validVerdict(verdict, hasPassed))
    : validVerdict(reading, hasPassed)
}

function validVerdict(
  verdict: Result<Verdict, string>,
  hasPassed: boolean | undefined,
): Result<Verdict, NoVerdict> {
  if (!verdict.ok) return invalidAnswer(verdict.error, isForbiddenChange(verdict.error))
  return verdict.value.type === 'modify' && hasPassed === true
    ? invalidAnswer('it changes what has passed already, as a webhook of mode Async cannot')
    : verdict
}

function requestWithinBudget(
  { route, phase, attributes, tool }: Question,
  compiled: CompiledWebhook,
  shown: readonly Shown[],
  deps: GuardDeps,
): Soon<WebhookRequest> {
  const budget = new Budget(deps.costly.limits)
  const request = webhookRequest(compiled, phase, shown, attributes, budget, tool)
  deps.costly.note(compiled, budget)
  if (budget.isSpent) deps.headerBudgetExceeded?.(route, compiled.webhook.backend)
  return request
}

// Calls a webhook, with a span of its own and the trace passed on where the stream is traced.

/** What a call needs. */
export interface WebhookCallDeps {
  readonly pools: WebhookPools
  readonly trace?: Trace | undefined
  readonly span?: TraceSpan | undefined
}

/** Calls a webhook. */
const callWebhook = (deps: WebhookCallDeps, call: PooledCall): Promise<CallResult> =>
  deps.trace === undefined ? deps.pools.call(call) : callTraced(deps, deps.trace, call)

async function callTraced(
  { pools, span: phase }: WebhookCallDeps,
  trace: Trace,
  call: PooledCall,
): Promise<CallResult> {
  const { tracer, ...sent } = trace
  const within = phase === undefined ? sent : contextWithin(phase)
  const span = tracer.start(call.method, { ...within, kind: 'client' })
  if (span.isRecording)
    span.set({
      ...callAttributes(call.method, call.target.url),
      'gatehouse.webhook': call.backend,
      'gatehouse.phase': call.phase,
    })
  let error: string | undefined = 'unexpected'
  try {
    const headers = { ...call.headers, ...span.headers }
    const answer = await pools.call({ ...call, headers })
    if (answer.ok) span.set({ 'http.response.status_code': answer.value.status })
    error = answer.ok ? errorOfStatus(answer.value.status) : answer.error.type
    return answer
  } finally {
    span.end(error)
  }
}

// Counts and logs the verdicts of webhooks.

/** Counts the verdict, or that there is none, and logs it. */
function noteVerdict(
  question: Question,
  compiled: CompiledWebhook,
  verdict: Result<Verdict, NoVerdict>,
  ms: number,
  deps: GuardDeps,
): void {
  const { failureMode, backend } = compiled.webhook
  const outcome: Outcome = verdict.ok
    ? verdict.value.type
    : failureMode === 'FailOpen' && !verdict.error.isByClient
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
  { reason, problem, isByClient: _, ...fields }: VerdictFields & NoVerdict,
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
  decisions?.refused({
    message: 'guardrail verdict',
    key: { mode, decision, route, webhook, phase, outcome },
    caller: () => verifiedCaller(question.attributes),
    fields: () => ({
      decision,
      ...fields,
      ...(reason !== undefined && {
        reason: hider(question.attributes.request ?? NO_REQUEST)(reason),
      }),
      ...compiled.place,
      ...fieldsOf(question, { traceparent, claims: decisions.claims }),
    }),
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
