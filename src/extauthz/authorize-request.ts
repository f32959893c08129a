// Applies an entry's rules to a request and its caller: to the request alone, or to each MCP message in its body.

import type { CompiledEntry } from './authz-table.js'
import type { Attributes } from './cel/attributes.js'
import { Budget } from './cel/budget.js'
import { type CheckCall, type CheckContext, isOver } from './check-context.js'
import {
  type Allowed,
  type Decision,
  type Refusal,
  refuseByRule,
  refuseMessage,
  refuseScopes,
  refuseUnauthenticated,
  refuseUnchecked,
  refuseUnread,
} from './decision.js'
import { keptVerdict, withVerdict } from './kept-verdicts.js'
import type { McpRequest } from './mcp/http-message.js'
import { isListMethod } from './mcp/lists.js'
import { requestScheme } from './oauth/base-url.js'
import { withoutOwnCookies } from './own-cookies.js'
import type { ReadMessages } from './read-messages.js'
import {
  type CompiledRules,
  judge,
  judgeScopes,
  type RuleFault,
  type RulePlace,
  type RuleVerdict,
} from './rules/judge.js'
import { listRequestText } from './rules/list-request.js'
import { mcpAttributes } from './rules/mcp-attributes.js'
import type { Caller } from './steps.js'
import type { RememberedToken } from './token/token-memory.js'
import { type CompiledValues, computeValues, type ValuesForEnvoy } from './values-for-envoy.js'

/**
 * Evaluates the rules of an entry. Returns a promise only if the rules cost much, or a body is read in slices or waits for
 * its turn.
 */
export function authorizeRequest(
  context: CheckContext,
  entry: CompiledEntry,
  caller: Caller,
  call: CheckCall,
): Decision | Promise<Decision> {
  return context.costly.has(entry)
    ? inTurn(context, entry, call, () => authorizeNow(context, entry, caller, call))
    : authorizeNow(context, entry, caller, call)
}

/** Waits for the turn of the entry, and refuses a check that is over by then. */
async function inTurn(
  context: CheckContext,
  entry: CompiledEntry,
  call: CheckCall,
  authorize: () => Decision | Promise<Decision>,
): Promise<Decision> {
  await context.costly.turn(entry)
  return isOver(context, call) ? refuseUnchecked('deadline') : authorize()
}

function authorizeNow(
  context: CheckContext,
  entry: CompiledEntry,
  caller: Caller,
  call: CheckCall,
): Decision | Promise<Decision> {
  if (!entry.readsMcp) return conclude(context, entry, caller, judgeOnce(context, entry, caller))
  const read = context.steps.readMessages(context.bodies, caller.request, entry.rules, () =>
    isOver(context, call),
  )
  if (!(read instanceof Promise)) return judgeMessages(context, entry, caller, read)
  return read.then((late) => {
    if (isOver(context, call)) return refuseUnchecked('deadline')
    const judgeLate = () => judgeMessages(context, entry, caller, late)
    // The turn before the reading is long over, and other bodies have been read by now as well.
    return context.costly.has(entry) ? inTurn(context, entry, call, judgeLate) : judgeLate()
  })
}

function judgeMessages(
  context: CheckContext,
  entry: CompiledEntry,
  caller: Caller,
  read: ReadMessages,
): Decision {
  if (read === 'not sent') return refuseUnread('body-not-sent')
  if (read === 'busy') return refuseUnread('too-many-bodies')
  if (read === 'unawaited') return refuseUnchecked('deadline')
  if (!read.ok) return refuseMessage(read.error)
  const verdict =
    entry.rules === undefined ? NO_RULES : judgeAll(context, entry, entry.rules, caller, read.value)
  return conclude(context, entry, caller, verdict, read.value)
}

/** Judges all calls with one budget; each of them must be allowed. */
function judgeAll(
  { options, costly, steps }: CheckContext,
  entry: CompiledEntry,
  rules: CompiledRules,
  caller: Caller,
  { calls }: McpRequest,
): RuleVerdict {
  const budget = new Budget(options.ruleBudget)
  const verdict = steps.judge(rules, caller, calls, budget)
  costly.note(entry, budget)
  return verdict
}

/** Judges each call, or the request itself if it has none that rules read; see CheckSteps. */
export function judgeCaller(
  rules: CompiledRules,
  caller: Caller,
  calls: McpRequest['calls'] | undefined,
  budget: Budget,
): RuleVerdict {
  return calls === undefined
    ? judgeAndScopes(rules, caller, budget)
    : judgeCalls(rules, caller, calls, budget)
}

function judgeCalls(
  rules: CompiledRules,
  caller: Caller,
  calls: McpRequest['calls'],
  budget: Budget,
): RuleVerdict {
  const attributes = attributesOf(caller)
  const all = calls.map((one) => ({ ...attributes, mcp: mcpAttributes(one) }))
  const allowing = new Set<RuleVerdict>()
  for (const one of all) {
    const verdict = judge(rules, one, budget)
    if (verdict.fault !== undefined) return { ...verdict, call: one.mcp }
    allowing.add(verdict)
  }
  const scopes = judgeScopes(rules.scopes, all, caller.token?.claims.json, budget)
  const [allowedAll = scopes, ...others] = allowing
  const verdict = scopes.fault === undefined && others.length === 0 ? allowedAll : scopes
  const [only] = all
  return all.length === 1 && only !== undefined && verdict.fault !== undefined
    ? { ...verdict, call: only.mcp }
    : verdict
}

function conclude(
  context: CheckContext,
  entry: CompiledEntry,
  caller: Caller,
  verdict: RuleVerdict,
  mcp?: McpRequest,
): Decision {
  const { request, token } = caller
  if (verdict.spentBy !== undefined) warnOfBudget(context, entry, verdict.spentBy)
  const { fault } = verdict
  if (fault !== undefined)
    return {
      ...refusal(entry, caller, { ...verdict, fault }, mcp),
      by: { rule: verdict.rule, call: verdict.call, token, mcp },
    }
  const listRequest = mcp && listRequestOf(entry, caller, mcp)
  const cookie = withoutOwnCookies(request.headers.get('cookie'))
  const values = entry.values && valuesOf(context, entry, entry.values, caller)
  const allowed = letIn(entry, token, verdict.allowedBy)
  if (mcp === undefined && cookie === undefined && values === undefined) return allowed
  return {
    ...allowed,
    ...(mcp === undefined ? {} : { mcp }),
    ...(cookie === undefined ? {} : { cookie }),
    ...(listRequest === undefined ? {} : { listRequest }),
    ...(values === undefined ? {} : { values }),
  }
}

/** Computes the values for Envoy, or takes them from the token where they depend on it alone. */
function valuesOf(
  context: CheckContext,
  entry: CompiledEntry,
  compiled: CompiledValues,
  caller: Caller,
): ValuesForEnvoy {
  const { token } = caller
  if (token?.computed?.by === compiled) return token.computed.values
  const budget = new Budget(context.options.ruleBudget)
  const values = computeValues(compiled, attributesOf(caller), budget)
  context.costly.note(entry, budget)
  if (budget.isSpent) warnOfValues(context, entry)
  else if (compiled.readTokenAlone && token !== undefined) token.computed = { by: compiled, values }
  return values
}

/** Makes nearly every decision; spreads would cost more than its whole content. */
function letIn(
  entry: CompiledEntry,
  token: RememberedToken | undefined,
  rule: RulePlace | undefined,
): Allowed {
  if (token !== undefined) return { type: 'allow', reason: 'allowed', token, rule }
  const allowed = entry.jwt === undefined ? ALLOWED : ANONYMOUS
  return rule === undefined ? allowed : { ...allowed, rule }
}

const ALLOWED: Allowed = { type: 'allow', reason: 'allowed' }
const ANONYMOUS: Allowed = { type: 'allow', reason: 'anonymous' }

function listRequestOf(
  { entry }: CompiledEntry,
  caller: Caller,
  { calls }: McpRequest,
): string | undefined {
  if (entry.filterLists === undefined) return undefined
  const lists = calls.filter(({ method }) => isListMethod(method))
  // A GET's stream may repeat any answer (Last-Event-ID).
  const isStream = caller.request.method === 'GET'
  if (lists.length === 0 && !isStream) return undefined
  return listRequestText(attributesOf(caller), isStream ? 'all' : lists)
}

function refusal(
  { entry }: CompiledEntry,
  { request, token }: Caller,
  { fault, needed }: RuleVerdict & { readonly fault: RuleFault },
  mcp: McpRequest | undefined,
): Refusal {
  if (needed === undefined) return refuseByRule(fault, mcp?.id)
  return token === undefined
    ? refuseUnauthenticated(entry, request, undefined)
    : refuseScopes(entry, request, needed, mcp?.id)
}

const NO_RULES: RuleVerdict = {}

/** Judges the request, or takes the verdict from the token where the rules read it alone. */
function judgeOnce(
  { options, isAudit, costly, steps }: CheckContext,
  entry: CompiledEntry,
  caller: Caller,
): RuleVerdict {
  const { rules } = entry
  const { token } = caller
  if (rules === undefined) return NO_RULES
  const slot = isAudit ? 'audited' : 'judged'
  const known = keptVerdict(token?.[slot], rules)
  if (known !== undefined) return known
  const budget = new Budget(options.ruleBudget)
  const verdict = steps.judge(rules, caller, undefined, budget)
  costly.note(entry, budget)
  if (rules.readTokenAlone && token !== undefined && verdict.spentBy === undefined)
    token[slot] = withVerdict(token[slot], { rules, verdict })
  return verdict
}

function judgeAndScopes(rules: CompiledRules, caller: Caller, budget: Budget): RuleVerdict {
  const attributes = rules.readTokenAlone ? { jwt: caller.token?.claims } : attributesOf(caller)
  const verdict = judge(rules, attributes, budget)
  if (verdict.fault !== undefined) return verdict
  const scopes = judgeScopes(rules.scopes, [attributes], caller.token?.claims.json, budget)
  return scopes.fault === undefined ? verdict : scopes
}

const oneValue = (value: string | readonly string[] | undefined): string | undefined =>
  typeof value === 'string' ? value : undefined

const attributesOf = ({ request, token, source }: Caller): Attributes => ({
  jwt: token?.claims,
  source,
  request: {
    method: request.method,
    host: request.host,
    scheme: requestScheme({
      scheme: request.scheme,
      forwardedProto: oneValue(request.headers.get('x-forwarded-proto')),
    }),
    pathAndQuery: request.path,
    version: request.protocol,
    headers: request.headers,
  },
})

// Warnings of rules and values that exceed their budget.

/** Logs that the rules of a route exceeded their budget. rule: the one that spent it. */
function warnOfBudget(context: CheckContext, { entry }: CompiledEntry, rule: string): void {
  const message = context.isAudit ? BUDGET_OF_AUDITED_RULES : BUDGET_OF_RULES
  warnOnce(context, { route: entry.route, rule }, message)
}

/** Logs that the values for Envoy of a route exceeded their budget. */
function warnOfValues(context: CheckContext, { entry }: CompiledEntry): void {
  warnOnce(context, { route: entry.route }, BUDGET_OF_VALUES)
}

const BUDGET_OF_RULES = 'the rules of a route exceeded their budget; the request was denied'
const BUDGET_OF_AUDITED_RULES =
  'the rules of a route in mode Audit exceeded their budget; the request counts as denied'
const BUDGET_OF_VALUES =
  'the header values and limit keys of a route exceeded their budget; the remaining ones have no value'

/** Logs a warning, limited per message and fields. */
function warnOnce(
  { options, limit }: CheckContext,
  fields: Readonly<Record<string, string>>,
  message: string,
): void {
  try {
    const leftOut = limit.take(`${message} ${Object.values(fields).join(' ')}`)
    if (leftOut === undefined) return
    options.logger.warn({ ...fields, leftOut }, message)
  } catch {
    // Bookkeeping changes no decision.
  }
}
