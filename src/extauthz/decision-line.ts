// Writes a decision to the decision log. The request is read a second time, but only if a line is written.

import {
  type CallerFields,
  callerFields,
  type DecisionLog,
  type Hide,
  hider,
  loggable,
  LOGGED_FROM,
  requestFields,
  traceFields,
} from '../kit/decision-log.js'
import { TRACEPARENT } from '../kit/tracing.js'
import type { Authorization } from '../model/authorization.js'
import type { AuthzEntry } from '../model/authz-entry.js'
import type { JsonObject } from '../model/json.js'
import { type PolicySource, type RulePolicy, ruleSourceOf } from '../model/policy-source.js'
import type { CheckCall } from './check-context.js'
import { type CheckRequest, openCheckRequest, readCheckRequest } from './check-request.js'
import { CALL_HEADERS, decidedCalls } from './decided-calls.js'
import type { Allowed, Decision, Reason, Refusal } from './decision.js'
import { HeaderNames } from './header-names.js'
import { mcpSpanAttributes } from './mcp/span-attributes.js'
import type { RulePlace } from './rules/judge.js'
import { bearerToken } from './token/authorization-header.js'
import { claim, LEEWAY_SECONDS, readClaims } from './token/claims.js'
import { parseJws } from './token/jws.js'

const MESSAGE = 'decision'
const HEADERS = new HeaderNames([...LOGGED_FROM, ...CALL_HEADERS])

interface LineOptions {
  /** Returns milliseconds since the epoch. */
  readonly now: () => number
  /** Set if the decision changes nothing. */
  readonly mode?: 'audit'
}

/** A request that was decided. */
export interface Decided {
  /** The CheckRequest. */
  readonly bytes: Buffer
  /** Absent: Envoy does not wait for the decision. */
  readonly call?: CheckCall
  /** NAMESPACE/NAME of the only Gateway that the caller serves; absent: it has other rights. */
  readonly gateway?: string | undefined
}

/** Logs a decision, if the settings of the decision log call for a line. */
export function logDecision(
  log: DecisionLog,
  decided: Decided,
  entry: AuthzEntry,
  decision: Decision,
  { now, mode }: LineOptions,
): void {
  let read: Logged | undefined
  const logged = (): Logged => (read ??= readAgain(decided, decision))
  const fields = (): object => ({
    ...(mode !== undefined && { mode }),
    ...lineOf(log, logged(), decided, entry, decision, now() / 1000),
  })
  if (decision.type === 'allow') return log.allowed(MESSAGE, fields)
  const { policy, rule } = decisionPlace(entry, decision)
  const { reason } = decision
  log.refused({
    message: MESSAGE,
    key: { mode, decision: 'deny', reason, route: entry.route, policy, rule },
    caller: () => callerOf(logged()),
    fields,
  })
}

/** Logs a denial without an entry. key: what Envoy sent as the route's key; undefined: nothing that can be read. */
export function logUnknown(
  log: DecisionLog,
  decided: Decided,
  { reason, reply: { status } }: Refusal,
  key: string | undefined,
): void {
  const denied = { decision: 'deny', reason, route: UNKNOWN }
  const fields = (): object => {
    const request = readLogged(decided)
    const hide = hider(request ?? NO_HEADERS)
    return {
      ...denied,
      status,
      ...(key !== undefined && { key: hide(key) }),
      ...(decided.gateway !== undefined && { gateway: decided.gateway }),
      ...requestPart(decided, request, hide),
    }
  }
  log.refused({ message: MESSAGE, key: denied, fields })
}

/** The route of a denial without an entry. */
const UNKNOWN = 'unknown'

const NO_HEADERS = { headers: new Map<string, string>() }

/** undefined: the CheckRequest is malformed, which is why it is denied. */
function readLogged({ bytes }: Decided): CheckRequest | undefined {
  try {
    return readCheckRequest(openCheckRequest(bytes), HEADERS)
  } catch {
    return undefined
  }
}

/** Returns the fields of the request, or at least those of the call. */
function requestPart({ call }: Decided, request: CheckRequest | undefined, hide: Hide): object {
  const [sent] = call?.metadata?.(TRACEPARENT) ?? []
  return request === undefined
    ? traceFields(sent)
    : requestFields({ ...request, pathAndQuery: request.path }, hide, sent)
}

/** What a line shows of a request and its caller. */
interface Logged {
  /** undefined: the CheckRequest is malformed, which is why it is denied. */
  readonly request: CheckRequest | undefined
  readonly hide: Hide
  /** undefined: the request has no token that can be read. */
  readonly claims: JsonObject | undefined
  readonly verified: boolean
}

function readAgain(decided: Decided, decision: Decision): Logged {
  const request = readLogged(decided)
  const token = decision.type === 'allow' ? decision.token : (decision.by?.token ?? decision.token)
  return {
    request,
    hide: hider(request ?? NO_HEADERS),
    verified: token !== undefined,
    claims: token?.claims.json ?? (request && unverifiedClaims(request)),
  }
}

const callerOf = (
  { claims, verified, hide }: Logged,
  asked?: readonly string[],
): CallerFields | undefined => claims && callerFields(claims, { asked, verified }, hide)

function lineOf(
  log: DecisionLog,
  logged: Logged,
  decided: Decided,
  entry: AuthzEntry,
  decision: Decision,
  nowSeconds: number,
): object {
  const { request, hide, claims } = logged
  return {
    decision: decision.type === 'allow' ? 'allow' : 'deny',
    reason: decision.reason,
    ...(decision.type === 'reply' && { status: decision.reply.status }),
    route: entry.route,
    ...decisionPlace(entry, decision),
    ...requestPart(decided, request, hide),
    ...(request && callFields(decision, request, hide)),
    ...callerOf(logged, log.claims),
    ...(claims && contrast(decision.reason, entry, claims, nowSeconds, hide)),
  }
}

/** Returns the method and the tool of the call that is denied, or those that all calls of the request share. */
function callFields(decision: Decision, request: CheckRequest, hide: Hide): object {
  const denied = decision.type === 'reply' ? decision.by?.call : undefined
  const calls = denied === undefined ? decidedCalls(decision, request) : [denied]
  const { 'mcp.method.name': mcpMethod, 'mcp.tool.name': tool } = mcpSpanAttributes(calls, hide)
  return {
    ...(mcpMethod !== undefined && { mcpMethod }),
    ...(tool !== undefined && { tool }),
  }
}

/** Claims of a token that was rejected or not required. */
function unverifiedClaims({ headers }: CheckRequest): JsonObject | undefined {
  const bearer = bearerToken([headers.get('authorization') ?? []].flat())
  const jws = bearer.type === 'token' ? parseJws(bearer.token) : undefined
  return jws && readClaims(jws)?.json
}

/** The policy and the rule that decided. */
export interface DecidingPlace extends Partial<PolicySource> {
  /** As the policy writes it, e.g. "matchExpressions[1]". */
  readonly rule?: string
  /** FILE:LINE of the rule; absent: unknown. */
  readonly ruleSource?: string
}

/** The rule that denies or allows the request, or else the policy that does. */
export function decisionPlace(entry: AuthzEntry, decision: Decision): DecidingPlace {
  if (decision.type === 'allow') return allowedPlace(entry, decision)
  const { by } = decision
  if (by === undefined) return entry.policy ?? {}
  return by.rule === undefined
    ? allowing(entry.authorization)
    : ruleOf(entry.authorization, by.rule)
}

/** Without Allow rules, the policy whose token was asked for; none on a route that is only audited. */
function allowedPlace({ authorization, policy }: AuthzEntry, { rule }: Allowed): DecidingPlace {
  if (rule !== undefined) return ruleOf(authorization, rule)
  return authorization === undefined || authorization.allow.length === 0
    ? (policy ?? {})
    : allowing(authorization)
}

/** The one policy with Allow rules. Empty if several have some, since no single one of them decided. */
function allowing(authorization: Authorization | undefined): DecidingPlace {
  const [only, ...others] =
    authorization?.policies?.filter(({ action, rules }) => action === 'Allow' && rules > 0) ?? []
  return only === undefined || others.length > 0 ? {} : { policy: only.policy, source: only.source }
}

const ACTIONS = { deny: 'Deny', require: 'Require', allow: 'Allow' } as const

/** Returns the policy that a pooled rule is from, and the rule as the policy counts it. */
export function ruleOf(
  authorization: Authorization | undefined,
  { list, index }: RulePlace,
): DecidingPlace {
  let left = index
  for (const each of authorization?.policies ?? []) {
    const count = countIn(each, list)
    if (left < count) {
      const isScopes = list === 'requiredScopes'
      const rule = `${isScopes ? list : 'matchExpressions'}[${left}]`
      const lines = isScopes ? each.scopeLines : each.ruleLines
      return {
        policy: each.policy,
        source: each.source,
        rule,
        ...ruleSourceOf(each.source, lines?.[left]),
      }
    }
    left -= count
  }
  return {}
}

const countIn = ({ action, rules, scopes }: RulePolicy, list: RulePlace['list']): number =>
  list === 'requiredScopes' ? scopes : action === ACTIONS[list] ? rules : 0

/** The issuer, audience or time that was expected of a token, and what the token has. */
function contrast(
  reason: Reason,
  { jwt }: AuthzEntry,
  claims: JsonObject,
  nowSeconds: number,
  hide: Hide,
): object {
  const providers = jwt?.providers ?? []
  const of = (name: string, expected: unknown): object => ({
    expected: { [name]: expected },
    got: { [name]: loggable(claim(claims, name) ?? null, hide) },
  })
  switch (reason) {
    case 'wrong-issuer':
    case 'unknown-issuer':
      return of('iss', [...new Set(providers.map(({ issuer }) => issuer))])
    case 'wrong-audience':
      return of('aud', [...new Set(providers.flatMap(({ audiences }) => audiences))])
    case 'expired':
    case 'no-expiry':
      return of('exp', { after: Math.floor(nowSeconds) - LEEWAY_SECONDS })
    case 'not-yet-valid':
      return of('nbf', { until: Math.floor(nowSeconds) + LEEWAY_SECONDS })
    default:
      return {}
  }
}
