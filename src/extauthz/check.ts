// One check, a straight line: open, find the entry, look at the path, authenticate, authorize, encode. Nothing is
// thrown out of it; whatever fails on the way is a refusal.

import type { Attributes } from '../cel/attributes.js'
import { Budget, type BudgetLimits } from '../cel/budget.js'
import { errorKind } from '../errors.js'
import { createLogLimit, type LogLimit } from '../log-limit.js'
import type { Logger } from '../logger.js'
import { requestScheme } from '../oauth/base-url.js'
import { authenticate, type Authentication } from './authenticate.js'
import { judge, type RuleVerdict } from './authorize.js'
import type { AuthzTable, CompiledEntry, CompiledJwt } from './authz-table.js'
import {
  type CheckEnvelope,
  type CheckRequest,
  openCheckRequest,
  readCheckRequest,
  readSource,
} from './check-request.js'
import { encodeDecision } from './check-response.js'
import {
  type Decision,
  refuseBroken,
  refuseByRule,
  refuseOrigin,
  refusePath,
  refuseUnanswered,
  refuseUnauthenticated,
  refuseUnchecked,
  refuseWithoutKeys,
} from './decision.js'
import { type FreshKeysOptions, KeyLookUps } from './fresh-keys.js'
import { isForeignOrigin } from './origin-check.js'
import { pathFault } from './path-check.js'
import type { RememberedToken } from './token-memory.js'

export interface CheckMetrics {
  /** route: NAMESPACE/NAME, "unknown" when no entry was found. reason: a word of decision.ts. */
  observe(route: string, decision: 'allow' | 'deny', reason: string, seconds: number): void
}

export interface CheckOptions extends FreshKeysOptions {
  readonly table: () => Pick<AuthzTable, 'get'>
  /** What the rules of one check may spend together; default DEFAULT_BUDGET. */
  readonly ruleBudget?: BudgetLimits
  readonly logger: Logger
  readonly metrics: CheckMetrics
}

/** What may end a check from outside. */
export interface CheckCall {
  isCancelled(): boolean
  /** Milliseconds since the epoch; Infinity: none. */
  readonly deadline: number
}

interface CheckContext {
  readonly options: CheckOptions
  /** Of lines that clients cause. */
  readonly limit: LogLimit
  readonly lookUps: KeyLookUps
}

export type Check = (bytes: Buffer, call: CheckCall) => Uint8Array | Promise<Uint8Array>

/** The answer is an encoded CheckResponse, at once unless a token is new. */
export function createCheck(options: CheckOptions): Check {
  const limit = createLogLimit(options.now)
  const context: CheckContext = { options, limit, lookUps: new KeyLookUps(options) }
  return (bytes, call) => {
    const start = performance.now()
    let entry: CompiledEntry | undefined
    try {
      const envelope = openCheckRequest(bytes)
      entry = envelope.key === undefined ? undefined : options.table().get(envelope.key)
      if (entry === undefined) return finish(context, start, UNKNOWN_ROUTE, undefined, envelope.key)
      const decision = decide(context, envelope, entry, call)
      return decision instanceof Promise
        ? finishLate(context, start, decision, entry)
        : finish(context, start, decision, entry)
    } catch (error) {
      const decision = error instanceof RangeError ? MALFORMED : failed(options, error)
      return finish(context, start, decision, entry)
    }
  }
}

async function finishLate(
  context: CheckContext,
  start: number,
  decision: Promise<Decision>,
  entry: CompiledEntry,
): Promise<Uint8Array> {
  try {
    return finish(context, start, await decision, entry)
  } catch (error) {
    return finish(context, start, failed(context.options, error), entry)
  }
}

const UNKNOWN_ROUTE = refuseUnchecked('unknown-route')
const MALFORMED = refuseUnchecked('malformed-check')

/** Only the error's kind is told: its message may carry what the request carried. */
function failed({ logger }: CheckOptions, error: unknown): Decision {
  logger.error({ error: errorKind(error) }, 'a check failed')
  return refuseUnchecked('internal-error')
}

/** Encodes a decision, counts it, and leaves one line in the log. */
function finish(
  { options, limit }: CheckContext,
  start: number,
  decision: Decision,
  entry: CompiledEntry | undefined,
  key?: string,
): Uint8Array {
  const bytes = encodeDecision(decision, entry?.jwt?.forwardToken ?? true)
  try {
    record(options, decision, entry, (performance.now() - start) / 1000)
    if (entry === undefined) warnOfUnknown(options, limit, decision, key)
  } catch {
    // Bookkeeping changes no decision, and there is nobody to tell: the logger is a part of it.
  }
  return bytes
}

function record(
  { logger, metrics }: CheckOptions,
  { type, reason }: Decision,
  entry: CompiledEntry | undefined,
  seconds: number,
): void {
  const route = entry?.entry.route ?? 'unknown'
  const decision = type === 'allow' ? 'allow' : 'deny'
  metrics.observe(route, decision, reason, seconds)
  if (entry !== undefined) logger.debug({ route, decision, reason, seconds }, 'check')
}

const MAX_LOGGED_KEY = 200

/** An Envoy that is configured by somebody else, or whoever reaches the address: as many as they like. */
function warnOfUnknown(
  { logger }: CheckOptions,
  limit: LogLimit,
  { reason }: Decision,
  key: string | undefined,
): void {
  const shown = key?.slice(0, MAX_LOGGED_KEY)
  const leftOut = limit.take(`${reason} ${shown ?? ''}`)
  if (leftOut === undefined) return
  logger.warn(
    { reason, ...(shown !== undefined && { key: shown }), leftOut },
    'a check names no route of ours',
  )
}

function decide(
  context: CheckContext,
  envelope: CheckEnvelope,
  entry: CompiledEntry,
  call: CheckCall,
): Decision | Promise<Decision> {
  if (entry.broken) return refuseBroken
  const { options } = context
  const request = readCheckRequest(envelope, entry.headers)
  const fault = pathFault(request.path, entry.entry.paths)
  if (fault !== undefined) return refusePath(fault)
  if (isForeignOrigin(entry.entry, request)) return refuseOrigin
  const source = entry.readsSource ? readSource(envelope) : undefined
  if (entry.jwt === undefined) return authorize(context, entry, request, undefined, source)
  const authentication = authenticateRequest(context, entry, entry.jwt, request)
  if (!(authentication instanceof Promise))
    return concludeCheck(context, entry, request, authentication, source)
  return authentication.then((late) =>
    call.isCancelled() || options.now() >= call.deadline
      ? refuseUnchecked('deadline')
      : concludeCheck(context, entry, request, late, source),
  )
}

function authenticateRequest(
  { options, lookUps }: CheckContext,
  { entry }: CompiledEntry,
  jwt: CompiledJwt,
  request: CheckRequest,
): Authentication | Promise<Authentication> {
  const found = request.headers.get('authorization')
  const values = found === undefined ? [] : typeof found === 'string' ? [found] : found
  return authenticate(jwt, values, {
    nowSeconds: options.now() / 1000,
    // The one place where a check looks at a newer table: for keys that were not there when it began.
    withFreshKeys: (provider, { kid, algorithm }, hasKey) =>
      lookUps.find({
        ...{ provider, kid, algorithm, hasKey },
        current: () => options.table().get(entry.key)?.jwt,
      }),
  })
}

function concludeCheck(
  context: CheckContext,
  entry: CompiledEntry,
  request: CheckRequest,
  authentication: Authentication,
  source: Attributes['source'],
): Decision {
  switch (authentication.type) {
    case 'unavailable':
      return refuseWithoutKeys
    case 'unanswered':
      return refuseUnanswered
    case 'no-token':
      return refuseUnauthenticated(entry.entry, request, undefined)
    case 'refused':
      return refuseUnauthenticated(entry.entry, request, authentication.fault)
    case 'anonymous':
      return authorize(context, entry, request, undefined, source)
    case 'verified':
      return authorize(context, entry, request, authentication.token, source)
  }
}

function authorize(
  check: CheckContext,
  entry: CompiledEntry,
  request: CheckRequest,
  token: RememberedToken | undefined,
  source: Attributes['source'],
): Decision {
  const verdict = judgeOnce(check, entry, request, token, source)
  if (verdict.spentBy !== undefined) warnOfBudget(check, entry, verdict.spentBy)
  if (verdict.fault !== undefined) return refuseByRule(verdict.fault)
  if (token !== undefined) return { type: 'allow', reason: 'allowed', token }
  return { type: 'allow', reason: entry.jwt === undefined ? 'allowed' : 'anonymous' }
}

const NO_RULES: RuleVerdict = {}

/** Rules that read the token alone come to the same at each of its requests. */
function judgeOnce(
  { options }: CheckContext,
  { rules }: CompiledEntry,
  request: CheckRequest,
  token: RememberedToken | undefined,
  source: Attributes['source'],
): RuleVerdict {
  if (rules === undefined) return NO_RULES
  if (token?.judged?.rules === rules) return token.judged.verdict
  const budget = new Budget(options.ruleBudget)
  const verdict = judge(rules, attributesOf(request, token, source), budget)
  if (rules.readTokenAlone && token !== undefined && verdict.spentBy === undefined)
    token.judged = { rules, verdict }
  return verdict
}

function warnOfBudget(
  { options, limit }: CheckContext,
  { entry }: CompiledEntry,
  rule: string,
): void {
  try {
    const leftOut = limit.take(`budget ${entry.route} ${rule}`)
    if (leftOut === undefined) return
    options.logger.warn(
      { route: entry.route, rule, leftOut },
      'the rules of a route exceeded their budget; the request was refused',
    )
  } catch {
    // As in finish().
  }
}

const oneValue = (value: string | readonly string[] | undefined): string | undefined =>
  typeof value === 'string' ? value : undefined

const attributesOf = (
  request: CheckRequest,
  token: RememberedToken | undefined,
  source: Attributes['source'],
): Attributes => ({
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
