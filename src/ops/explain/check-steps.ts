// Turns the recorded steps of a check into sentences with the values that they read.

import { ruleOf } from '../../extauthz/decision-line.js'
import type { RulePlace } from '../../extauthz/rules/judge.js'
import { LEEWAY_SECONDS } from '../../extauthz/token/claims.js'
import type { Hide } from '../../kit/decision-log.js'
import type { AuthzEntry } from '../../model/authz-entry.js'
import type { Json } from '../../model/json.js'
import type { PathMatch } from '../../model/route.js'
import type { ExplainedStep } from './explanation.js'
import type { CheckStep, TokenHeader } from './recorded-steps.js'
import { claimShown, listShown, readValues, scopesText, shown, timeText } from './show-values.js'
import type { RuleStep, TracedStep } from './traced-check.js'

type Of<S extends TracedStep['step']> = Extract<TracedStep, { readonly step: S }>

/** The context of the sentences, in addition to the steps. */
export interface StepContext {
  readonly entry: AuthzEntry
  readonly hide: Hide
  /** Whether this is no running Gatehouse. Only then are rules quoted, as a literal in one may be a secret. */
  readonly isOffline: boolean
}

/** Returns the sentence of a step. */
export function explainStep(step: TracedStep, context: StepContext): ExplainedStep {
  switch (step.step) {
    case 'path':
      return pathStep(step)
    case 'origin':
      return originStep(step)
    case 'bearer':
      return bearerStep(step)
    case 'token':
      return tokenStep(step)
    case 'issuer':
      return issuerStep(step, context.hide)
    case 'claims':
      return claimsStep(step, context.hide)
    case 'rule':
      return ruleStep(step, context)
    default:
      return laterStep(step, context)
  }
}

function laterStep(
  step: Exclude<CheckStep, Of<EarlyStep>>,
  { isOffline, hide }: StepContext,
): ExplainedStep {
  switch (step.step) {
    case 'key':
      return keyStep(step)
    case 'refetch':
      return isOffline
        ? { name: 'key', result: 'noted', text: NOT_ASKED }
        : of('key', step.result === 'found', REFETCHED[step.result])
    case 'signature':
      return signatureStep(step)
    case 'authentication':
      return authenticationStep(step)
    case 'session':
      return sessionStep(step)
    case 'messages':
      return messagesStep(step)
    case 'scopes':
      return scopesStep(step, hide)
  }
}

type EarlyStep = 'path' | 'origin' | 'bearer' | 'token' | 'issuer' | 'claims'

const of = (
  name: string,
  isPassed: boolean,
  text: string,
  read?: Readonly<Record<string, Json>>,
): ExplainedStep => ({
  name,
  result: isPassed ? 'passed' : 'failed',
  text,
  ...(read && Object.keys(read).length > 0 && { read }),
})

/** Shows a path match as users write it. */
export const matchText = ({ type, value }: PathMatch): string => `${type} ${value}`

function pathStep({ path, accepted, fault }: Of<'path'>): ExplainedStep {
  const [plain = ''] = path.split('?', 1)
  if (fault === 'path-trick')
    return of('path', false, `servers may read the path ${plain} in different ways`)
  const list = accepted.map(matchText).join(', ')
  return fault === undefined
    ? of('path', true, `the path ${plain} is one of the route's: ${list}`)
    : of('path', false, `the path ${plain} matches none of the route's: ${list}`)
}

const originStep = ({ origin, allowed, isForeign }: Of<'origin'>): ExplainedStep =>
  of(
    'origin',
    !isForeign,
    origin === undefined
      ? 'the request has no Origin'
      : `Origin is ${shown(origin)}; allowedOrigins has ${shown(allowed)}`,
  )

const BEARERS = {
  none: 'Authorization is absent',
  token: 'Authorization has one bearer token',
  malformed: 'Authorization is not exactly one bearer token of at most 16 KiB',
}

const bearerStep = ({ found, mode }: Of<'bearer'>): ExplainedStep =>
  found === 'token' || mode === 'Permissive' || (found === 'none' && mode === 'Optional')
    ? of('token', true, `${BEARERS[found]}; mode is ${mode}`)
    : of('token', false, `${BEARERS[found]}; mode is ${mode}`)

function tokenStep({ header, claims }: Of<'token'>): ExplainedStep {
  if (header === undefined) return of('token', false, 'the token is not a signed JWT')
  const text = `the token is a signed JWT: ${headerText(header)}`
  return claims === undefined
    ? of('token', false, `${text}; its claims are malformed or nested too deeply`)
    : of('token', true, text)
}

const headerText = ({ algorithm, kid, type }: TokenHeader): string =>
  `alg ${shown(algorithm)}, kid ${shown(kid)}, typ ${shown(type)}`

function issuerStep({ accepted, claims, matching }: Of<'issuer'>, hide: Hide): ExplainedStep {
  const iss = claimShown(claims, 'iss', hide)
  const read: Record<string, Json> = iss === undefined ? {} : { iss }
  const verdict =
    matching > 0
      ? ', which the policy accepts'
      : `; the policy accepts ${shown([...new Set(accepted)])}`
  return of('issuer', matching > 0, `iss is ${shown(iss)}${verdict}`, read)
}

/** Claims that are read until each fault is found, in order; the last one has the fault. */
const CLAIMS_READ: Readonly<Record<string, readonly string[]>> = {
  'wrong-type': [],
  'wrong-issuer': [],
  'wrong-audience': ['aud'],
  'no-expiry': ['aud', 'exp'],
  expired: ['aud', 'exp'],
}

function claimsStep(step: Of<'claims'>, hide: Hide): ExplainedStep {
  const { rules, claims, fault } = step
  const names = (fault && CLAIMS_READ[fault]) ?? ['aud', 'exp', 'nbf']
  const read = Object.fromEntries(
    names
      .filter((name) => name !== 'aud' || rules.audiences.length > 0)
      .flatMap((name) => {
        const value = claimShown(claims, name, hide)
        return value === undefined ? [] : [[name, value]]
      }),
  )
  return of('claims', fault === undefined, claimsText(step, read), read)
}

function claimsText(
  { fault, rules, header, nowSeconds }: Of<'claims'>,
  { aud, exp, nbf }: Readonly<Record<string, Json>>,
): string {
  const wanted =
    rules.audiences.length === 0
      ? 'aud is not checked'
      : `the policy wants ${shown(rules.audiences)}`
  const now = `the time is ${timeText(nowSeconds)}`
  const leeway = `${String(LEEWAY_SECONDS)} s of leeway`
  switch (fault) {
    case undefined:
      return rules.audiences.length === 0
        ? `${wanted}; exp is ${timeText(exp)}`
        : `aud has ${listShown(aud)}, ${wanted}; exp is ${timeText(exp)}`
    case 'wrong-type':
      return `typ is ${shown(header.type)}; expected JWT, at+jwt or none`
    case 'wrong-audience':
      return `aud has ${listShown(aud)}, ${wanted}`
    case 'no-expiry':
      return 'the token has no exp'
    case 'expired':
      return `exp is ${timeText(exp)}, and ${now} (${leeway})`
    case 'not-yet-valid':
      return `nbf is ${timeText(nbf)}, and ${now} (${leeway})`
    default:
      return 'a claim has a wrong type: exp and nbf are numbers'
  }
}

function keyStep({ issuer, header, keys, tried }: Of<'key'>): ExplainedStep {
  const wanted = `kid ${shown(header.kid)} and alg ${shown(header.algorithm)}`
  const set = `the key set of ${issuer}`
  if (keys === undefined) return of('key', false, `${set} was never fetched`)
  if (tried === 0)
    return of('key', false, `${set} has ${keyCount(keys)}, but not exactly one for ${wanted}`)
  return of(
    'key',
    true,
    header.kid === undefined
      ? `the token has no kid, and ${set} has ${keyCount(tried)} for alg ${shown(header.algorithm)} to try`
      : `${set} has a key for ${wanted}`,
  )
}

const keyCount = (count: number): string => `${String(count)} key${count === 1 ? '' : 's'}`

function signatureStep({ isGood, tried }: Of<'signature'>): ExplainedStep {
  const text = tried === 1 ? 'that key' : isGood ? 'one of these keys' : 'none of these keys'
  const verifies = isGood || tried > 1 ? 'verifies' : 'does not verify'
  return of('signature', isGood, `${text} ${verifies} the signature`)
}

const NOT_ASKED = 'a running Gatehouse would ask the provider again; this command does not'

const REFETCHED = {
  found: 'the provider was asked again, and now has the key',
  unknown: 'the provider was asked again, and does not have the key either',
  unanswered: 'the provider was asked again, and did not answer in time',
}

const AUTHENTICATED = {
  verified: 'the token is verified',
  anonymous: 'the request continues without claims',
  'no-token': 'a token is required',
  refused: 'the token is rejected',
  unavailable: 'no token can be verified without keys',
  unanswered: 'whether the provider has the key is unknown',
}

const authenticationStep = ({ result, mode }: Of<'authentication'>): ExplainedStep =>
  of(
    'authentication',
    result === 'verified' || result === 'anonymous',
    `${AUTHENTICATED[result]} (mode ${mode})`,
  )

function messagesStep({ calls, problem }: Of<'messages'>): ExplainedStep {
  if (problem !== undefined) return of('message', false, problem)
  const texts = calls.map(({ method, tool }) =>
    method === '' ? 'no message' : tool === '' ? method : `${method} of ${shown(tool)}`,
  )
  const more = texts.length > MAX_CALLS ? ` and ${String(texts.length - MAX_CALLS)} more` : ''
  return of('message', true, `the body has ${texts.slice(0, MAX_CALLS).join(', ')}${more}`)
}

const MAX_CALLS = 8

function scopesStep({ needed, claims = {} }: Of<'scopes'>, hide: Hide): ExplainedStep {
  const read: Record<string, Json> = {}
  for (const name of ['scope', 'scp']) {
    const value = claimShown(claims, name, hide)
    if (value !== undefined) read[name] = value
  }
  return needed === undefined
    ? of('scopes', true, 'the caller has the scopes that the request needs', read)
    : of(
        'scopes',
        false,
        `the request needs the scopes ${shown(needed)}; ${scopesText(claims, hide)}`,
        read,
      )
}

/** Whether a result of this list lets the request continue to the next step. */
function isPassed({ list }: RulePlace, result: RuleStep['result']): boolean {
  if (list === 'deny') return result === false
  return list === 'requiredScopes' || result === true
}

const RULE_NAMES = { deny: 'Deny', require: 'Require', allow: 'Allow', requiredScopes: 'scopes' }

function ruleStep(step: RuleStep, { entry, hide, isOffline }: StepContext): ExplainedStep {
  const { place, rule, result, attributes } = step
  const where = rulePlaceText(entry, place)
  const value = typeof result === 'boolean' ? String(result) : `not evaluable (${result})`
  const quoted = isOffline ? `: ${rule.source.replace(/\s+/g, ' ')}` : ''
  const passed = isPassed(place, result)
  // An Allow that is false does not decide: another one may be true.
  const isOpen = place.list === 'allow' && !passed
  const read = readValues(rule.reads, attributes, hide)
  return {
    ...of(`rule ${RULE_NAMES[place.list]}`, passed, `${where} is ${value}${quoted}`, read),
    ...(isOpen && { result: 'noted' as const }),
  }
}

/** Names a pooled rule by its policy: "NAMESPACE/NAME matchExpressions[0] (FILE:LINE)". */
export function rulePlaceText({ authorization }: AuthzEntry, place: RulePlace): string {
  const { policy, source, rule, ruleSource = source } = ruleOf(authorization, place)
  return policy === undefined
    ? `${place.list}[${String(place.index)}]`
    : `${policy} ${rule ?? ''} (${ruleSource ?? ''})`
}

// The sentence of the step in which a session is opened (mcp.bindSession).

type SessionStep = Extract<CheckStep, { readonly step: 'session' }>

/** Returns the sentence of the step. */
const sessionStep = (step: SessionStep): ExplainedStep => ({
  name: 'session',
  result: step.hasSubject && (step.isOpened || !step.isNamed) ? 'passed' : 'failed',
  text: textOf(step),
})

function textOf({ isNamed, hasSubject, isOpened }: SessionStep): string {
  if (!hasSubject) return 'the token has no subject (sub), to which sessions are bound'
  if (!isNamed) return 'Mcp-Session-Id is absent, as in the request that begins a session'
  return isOpened
    ? "Mcp-Session-Id is a session of the token's issuer and subject"
    : "Mcp-Session-Id is no session of the token's issuer and subject"
}
