// Asks the webhooks of a phase about texts, in order; each sees the changes of the previous one. The first reject, or
// the first failure of a webhook that fails closed, ends the phase (decisions 16, 19, 23).

import { Budget } from '../../cel/budget.js'
import type { CallResult, PooledCall } from '../../remote/webhook-call.js'
import type { Result } from '../../result.js'
import { Pace, SLICE_UNITS, type Soon, soonInTurns, type Work } from '../../turns.js'
import { callWebhook } from './call-webhook.js'
import { type CompiledWebhook, isShown } from './compiled-guard.js'
import type { GuardDeps } from './guard-deps.js'
import { badStatus, failedCall, givenUp, invalidAnswer, type NoVerdict } from './no-verdict.js'
import { noteVerdict } from './note-verdict.js'
import type { AskedEntry, Question } from './question.js'
import { shownReason } from './verdict-reason.js'
import { readVerdict, type Shown, type Verdict } from './webhook-answer.js'
import { isLastHop, type WebhookRequest, webhookRequest } from './webhook-request.js'

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
    const showing = soonInTurns(() => shownEntries(entries, contents, indexes), question.signal)
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
  const answer = await callWebhook(deps, pooledCall(question, compiled, request, deps))
  const reading = verdictOf(answer, question, shown)
  const verdict = reading instanceof Promise ? await reading : reading
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
  if (!verdict.ok) return invalidAnswer(verdict.error)
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
