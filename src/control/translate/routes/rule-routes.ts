// Decides what a rule of an HTTPRoute does (forward, redirect or refuse), and builds the routes of each match:
// forwarded, answered by ext_proc (well-known paths of an MCP route), or refusing.

import { compareText } from '../../../kit/incremental/sorted-list.js'
import {
  guardAuditKey,
  listsKey,
  mcpGuardKey,
  routeKey,
  routeName,
  sessionsKey,
} from '../../../model/names.js'
import { wildcardOrigin } from '../../../model/origins.js'
import type { GuardAuditEntry, GuardEntry } from '../../../model/proc-entry.js'
import type {
  Cors,
  ForwardAction,
  HeaderModifier,
  Mirror,
  ProcAttachment,
  RefuseAction,
  Route,
  RouteAction,
  RouteMatch,
  Timeouts,
  ValueMatch,
  WeightedDestination,
} from '../../../model/route.js'
import type { HttpRouteRule, HttpRouteSpec } from '../../schema/kinds/http-route.js'
import type { Resource } from '../../schema/kinds/resources.js'
import { asksAuthz, type Attachment, enforcesAuthz } from '../policies/attachments.js'
import { policyFieldsOf } from '../policies/policy-fields.js'
import { keyOf } from '../world/world.js'
import type { Filters } from './filters.js'
import { type OrderedRoute, preflightRank, rankOf } from './hosts/route-order.js'
import type { RouteBackends } from './route-backends.js'
import { uncheckedBodyOf } from './unchecked-bodies.js'
import {
  coveredDocuments,
  coveredRoots,
  isWellKnown,
  mcpPathsOf,
  relayPages,
  rootName,
} from './well-known-routes.js'

/** A decoded HTTPRoute. */
export type HttpRoute = Resource<HttpRouteSpec>

/** What a rule is translated with. */
export interface RuleInput {
  readonly route: HttpRoute
  readonly index: number
  readonly rule: HttpRouteRule
  readonly attachment: Attachment
  /** Keys of the broken policies; if not empty, the whole route refuses. */
  readonly refusals: readonly string[]
  /** Whether no policy decides who may use the route although one is required. */
  readonly lacksPolicy: boolean
  /** The problem of a rule that makes too much of Envoy's configuration (route-sizes.ts). */
  readonly tooLarge?: string
  /** Scope for routeKey(). */
  readonly scope?: string
  /** Key of the scope's Gateway if it presents a client certificate to backends. */
  readonly presenter?: string
  /** Maximum size of a body that rules read. */
  readonly mcpBodyBytes: number
  /** Number of buckets of a keyed rate limit. */
  readonly rateLimitBuckets: number
  /** Webhooks of the promptGuard or of the MCP guard; absent: nothing is guarded. */
  readonly webhooks?: Pick<GuardEntry, 'request' | 'response'>
  /** Absent: no webhook is audited. */
  readonly audited?: Pick<GuardAuditEntry, 'request' | 'response'>
}

/** Returns the key of the rule in both tables. */
export const keyOfRule = ({ route, index, scope }: RuleInput): string =>
  routeKey(route.metadata.namespace, route.metadata.name, index, scope)

/** Returns undefined if the rule does not refuse. problems: those of the rule in the HTTPRoute. */
export function refusalOf(
  { refusals, lacksPolicy }: RuleInput,
  problems: readonly string[],
): RefuseAction | undefined {
  if (refusals.length > 0) return INVALID_POLICY
  if (lacksPolicy) return WITHOUT_POLICY
  return problems.length > 0 ? refuse('This route is not valid.') : undefined
}

/** Fallbacks: ext_authz denies these requests first, counts and logs them. */
const WITHOUT_POLICY: RefuseAction = {
  type: 'refuse',
  status: 503,
  body: 'No policy decides who may use this route.',
}

const refuse = (body: string): RefuseAction => ({ type: 'refuse', status: 500, body })

const INVALID_POLICY = refuse('The policy of this route is not valid.')

/** Returns the action of a rule without a refusalOf(). */
export function actionOf(
  { rule, attachment, webhooks }: RuleInput,
  filters: Filters,
  backends: RouteBackends,
  mirrors: readonly Mirror[],
): RouteAction {
  if (filters.redirect !== undefined) return filters.redirect
  if (backends.weighted.every(({ weight }) => weight === 0))
    return refuse('This route has no backend.')
  const isMcp = attachment.jwt?.jwt?.mcp !== undefined
  const isGuarded = webhooks !== undefined
  return {
    type: 'forward',
    destinations: backends.weighted.map((one) => withoutRemoved(one, attachment)),
    ...(mirrors.length === 0 ? {} : { mirrors }),
    ...(filters.rewrite === undefined ? {} : { rewrite: filters.rewrite }),
    ...retryOf(rule),
    timeouts: timeoutsOf(rule, backends.requestTimeoutMs, isMcp || isGuarded),
    replaceBackendCors: isMcp && filters.cors !== undefined,
    allowUpgrades: !enforcesAuthz(attachment) && !isGuarded,
  }
}

const removedFromAnswers = ({ transformation }: Attachment): readonly string[] =>
  transformation?.removedFromAnswers ?? []

/** Removes headers from a backendRef's own filters, which must not restore what the policy removes. */
function withoutRemoved(one: WeightedDestination, attachment: Attachment): WeightedDestination {
  const removed = removedFromAnswers(attachment)
  return one.responseHeaders === undefined || removed.length === 0
    ? one
    : {
        ...one,
        responseHeaders: answerHeaders(one.responseHeaders, removed) ?? one.responseHeaders,
      }
}

/** The parts that all routes of a rule share. */
export interface RuleRoutes {
  /** If present, every match of the rule refuses. */
  readonly refusal?: RefuseAction
  readonly action: RouteAction
  readonly filters: Filters
  readonly cors?: Cors
}

/** position: index of the match in its rule. */
export function buildRoutes(
  input: RuleInput,
  rule: RuleRoutes,
  match: RouteMatch,
  position: number,
): readonly OrderedRoute[] {
  const routes = routesOf(input, rule, match).flatMap(withPreflight)
  return routes.map(({ suffix, rank, ...route }) => {
    const { namespace, name } = input.route.metadata
    const named = { name: routeName(namespace, name, input.index, position, suffix), ...route }
    return {
      route: named,
      rank: rank ?? rankOf(named.match),
      created: input.route.metadata.creationTimestamp ?? 0,
      httpRoute: keyOf(input.route),
      rule: input.index,
      match: position,
    }
  })
}

/** A route without its name, with the suffix that distinguishes it from the others of its match. */
type Unnamed = SplitRoute

function withPreflight(route: Unnamed): readonly Unnamed[] {
  const { cors, ...plain } = route
  if (plain.action.type === 'redirect' && cors !== undefined) return splitByOrigin(plain, cors)
  const preflight = preflightOf(route)
  if (preflight === undefined) return [route]
  const suffix = route.suffix === undefined ? 'preflight' : `${route.suffix}/preflight`
  return [route, { ...preflight, suffix, rank: preflightRank(route.match) }]
}

function routesOf(input: RuleInput, rule: RuleRoutes, match: RouteMatch): readonly Unnamed[] {
  if (rule.refusal === WITHOUT_POLICY || rule.refusal === INVALID_POLICY)
    return [{ ...refusedRoute(rule.refusal, rule, match), authz: keyOfRule(input) }]
  if (rule.refusal !== undefined) return [refusedRoute(rule.refusal, rule, match)]
  if (input.attachment.jwt?.jwt?.mcp === undefined) return [plainRoute(input, rule, match)]
  const pages = pagesOf(input, match)
  if (match.path.type === 'Exact' && pages.length > 0) return pages
  if (isWellKnown(match.path)) return [...pages, answeredRoute(input, rule, match)]
  const fronts = coveredRoots(match).map((root) => ({
    ...answeredRoute(input, rule, { ...match, path: { type: 'PathPrefix', value: root } }),
    suffix: rootName(root),
  }))
  const documents = documentsOf(input, match).map((document) => ({
    ...answeredRoute(input, rule, document),
    suffix: document.path.value.slice(1),
  }))
  return [...pages, ...fronts, ...documents, plainRoute(input, rule, match)]
}

/**
 * Returns a refusing route. It omits the rest of the rule, which Envoy might NACK, except CORS: without it, a page in
 * a browser would see a failed connection instead of the answer.
 */
const refusedRoute = (
  action: RefuseAction,
  { cors }: RuleRoutes,
  match: RouteMatch,
): Omit<Route, 'name'> => ({ match, action, ...(cors === undefined ? {} : { cors }) })

function plainRoute(input: RuleInput, rule: RuleRoutes, match: RouteMatch): Unnamed {
  const { attachment } = input
  const { action, cors, filters } = rule
  const { requestHeaders } = filters
  if (action.type === 'refuse') return refusedRoute(action, rule, match)
  const responseHeaders = answerHeaders(filters.responseHeaders, removedFromAnswers(attachment))
  return {
    match,
    action,
    ...authzOf(input, match),
    ...(action.type === 'forward' ? processedBy(input, keyOfRule(input)) : {}),
    ...(cors === undefined ? {} : { cors }),
    ...(attachment.rateLimit === undefined
      ? {}
      : { limits: { local: attachment.rateLimit.local, maxBuckets: input.rateLimitBuckets } }),
    ...limitsAuditOf(input),
    ...fieldsOf(attachment),
    ...(requestHeaders === undefined ? {} : { requestHeaders }),
    ...(responseHeaders === undefined ? {} : { responseHeaders }),
  }
}

function fieldsOf(attachment: Attachment): Pick<Route, 'policyFields'> {
  const policyFields = policyFieldsOf(attachment)
  return policyFields.length === 0 ? {} : { policyFields }
}

const limitsAuditOf = ({
  attachment: { audit },
  rateLimitBuckets: maxBuckets,
}: RuleInput): Pick<Route, 'limitsAudit'> =>
  audit?.limits === undefined ? {} : { limitsAudit: { local: audit.limits, maxBuckets } }

/** Returns how ext_authz takes part. */
function authzOf(input: RuleInput, match: RouteMatch): Partial<Route> {
  const { attachment, mcpBodyBytes } = input
  if (!asksAuthz(attachment)) return {}
  const isEnforced = enforcesAuthz(attachment)
  // The policy in force would make the documents public.
  if (!isEnforced && attachment.audit?.jwt?.jwt?.mcp !== undefined && isWellKnown(match.path))
    return {}
  const isBodyAudited = !attachment.readsMcp && attachment.audit?.readsMcp === true
  return {
    authz: keyOfRule(input),
    ...(isEnforced ? {} : { isAudited: true }),
    ...(attachment.readsMcp || isBodyAudited ? { authzBodyBytes: mcpBodyBytes } : {}),
    ...uncheckedBodyOf(attachment, keyOfRule(input)),
    ...(isBodyAudited ? { isBodyAudited } : {}),
  }
}

/** Returns the routes for a relay's pages, which precede the match and have no CORS. */
function pagesOf(input: RuleInput, match: RouteMatch): readonly Unnamed[] {
  const mcp = input.attachment.jwt?.jwt?.mcp
  if (mcp?.relay === undefined) return []
  const { mcpPath } = mcpPathsOf(mcp, input.route.spec)
  return relayPages(mcpPath, match).map((page) => ({
    ...answeredRoute(input, {}, page.match),
    suffix: page.endpoint,
  }))
}

function documentsOf(input: RuleInput, match: RouteMatch): readonly RouteMatch[] {
  const mcp = input.attachment.jwt?.jwt?.mcp
  return mcp === undefined ? [] : coveredDocuments(mcp, mcpPathsOf(mcp, input.route.spec), match)
}

const answeredRoute = (
  input: RuleInput,
  { cors }: Pick<RuleRoutes, 'cors'>,
  match: RouteMatch,
): Unnamed => ({
  match,
  action: { type: 'answered' },
  proc: { key: keyOfRule(input), mode: 'well-known' },
  ...(cors === undefined ? {} : { cors }),
})

// Adds a route for CORS preflights to rules that match by method. A preflight is an OPTIONS request, which such a rule
// does not match (Fetch standard, CORS-preflight fetch).

/**
 * Returns undefined if the route itself matches its preflights, or has no CORS filter to answer them. Envoy's CORS
 * filter answers every request that this route matches; if it ever did not, the route has no backend.
 */
function preflightOf({
  match,
  cors,
}: Pick<Route, 'match' | 'cors'>): Omit<Route, 'name'> | undefined {
  const { method } = match
  if (cors === undefined || method === undefined || method === 'OPTIONS') return undefined
  return { match: preflightMatch(match, method), action: { type: 'answered' }, cors }
}

const preflightMatch = (match: RouteMatch, method: string): RouteMatch => ({
  ...match,
  method: 'OPTIONS',
  headers: [
    ...match.headers,
    { name: 'access-control-request-method', type: 'Exact', value: method } as const,
    { name: 'origin', type: 'RegularExpression', value: '.+' } as const,
  ].sort((a, b) => compareText(a.name, b.name)),
})

// Splits a redirecting route with CORS by the Origin of requests: Envoy's CORS filter does not act on redirects, so the
// matches choose which requests get its headers.

/** A route that a redirect with CORS is split into. */
interface SplitRoute extends Omit<Route, 'name'> {
  readonly suffix?: string
  readonly rank?: number
}

/** Returns the routes in place of one that redirects, given without its CORS: preflights, each allowed origin, other requests. */
function splitByOrigin(plain: Omit<Route, 'name' | 'cors'>, cors: Cors): readonly SplitRoute[] {
  const { match } = plain
  // Between the route's own rank and the next one: no other match may come in between.
  const rank = rankOf(match)
  const preflight = preflightOf({ match, cors })
  return [
    preflight === undefined
      ? { ...allPreflights(match, cors), suffix: 'preflight', rank: rank + 0.75 }
      : { ...preflight, suffix: 'preflight', rank: preflightRank(match) },
    ...originMatches(cors).map((origin, index) => ({
      ...plain,
      cors,
      match: withHeaders(match, [origin]),
      suffix: `origin/${String(index)}`,
      rank: rank + 0.5,
    })),
    plain,
  ]
}

const allPreflights = (match: RouteMatch, cors: Cors): Omit<Route, 'name'> => ({
  match: { ...withHeaders(match, [ANY_ORIGIN, ANY_METHOD]), method: 'OPTIONS' },
  action: { type: 'answered' },
  cors,
})

const ANY_ORIGIN: ValueMatch = { name: 'origin', type: 'RegularExpression', value: '.+' }
const ANY_METHOD: ValueMatch = { ...ANY_ORIGIN, name: 'access-control-request-method' }

const originMatches = ({ allowOrigins }: Cors): readonly ValueMatch[] =>
  allowOrigins.includes('*')
    ? [ANY_ORIGIN]
    : allowOrigins.map((origin) => {
        const pattern = wildcardOrigin(origin)
        return pattern === undefined
          ? { name: 'origin', type: 'Exact', value: origin }
          : { name: 'origin', type: 'RegularExpression', value: pattern }
      })

const withHeaders = (match: RouteMatch, more: readonly ValueMatch[]): RouteMatch => ({
  ...match,
  headers: [...match.headers, ...more].sort((a, b) => compareText(a.name, b.name)),
})

// Translates the timeouts and retries of a rule (Gateway API, HTTPRouteTimeouts and HTTPRouteRetry).

/** Returns the number of attempts after the first; the Gateway API leaves the default to implementations. */
const attemptsOf = ({ retry }: HttpRouteRule): number =>
  retry === undefined ? 0 : (retry.attempts ?? 1)

/** Returns the retries of a rule, if it has any. */
const retryOf = (rule: HttpRouteRule): Pick<ForwardAction, 'retry'> =>
  rule.retry === undefined || attemptsOf(rule) === 0
    ? {}
    : {
        retry: {
          codes: [...new Set(rule.retry.codes)],
          attempts: attemptsOf(rule),
          ...(rule.retry.backoff === undefined ? {} : { backoffMs: rule.retry.backoff }),
        },
      }

/**
 * Returns the timeouts (decisions 13b and 21). MCP routes (endless streams) and guarded routes (which wait for
 * webhooks) have none unless the route or a policy sets one.
 */
function timeoutsOf(
  rule: HttpRouteRule,
  policyMs: number | undefined,
  isEndless: boolean,
): Timeouts {
  const { timeouts } = rule
  // Without a limit on the whole request, Envoy's default of 15 s would cut a longer backend timeout short. With
  // retries each try has its own limit.
  const ofBackend =
    attemptsOf(rule) > 0 && timeouts.backendRequest !== undefined ? 0 : timeouts.backendRequest
  const whole = timeouts.request ?? ofBackend ?? (isEndless ? 0 : undefined)
  const requestMs = shorter(whole, policyMs)
  return {
    ...(requestMs === undefined ? {} : { requestMs }),
    ...(timeouts.backendRequest === undefined ? {} : { backendRequestMs: timeouts.backendRequest }),
    ...(isEndless ? { idleMs: 0 } : {}),
  }
}

/** Returns the shorter timeout; a `whole` of 0 means no limit. */
const shorter = (whole: number | undefined, policyMs: number | undefined): number | undefined =>
  policyMs === undefined || (whole !== undefined && whole > 0 && whole < policyMs)
    ? whole
    : policyMs

// Says how ext_proc takes part in what a rule forwards: one entry processes it, and one may get copies.

/** What a rule is processed for. */
interface Processed {
  readonly attachment: Attachment
  /** Absent: nothing is guarded. */
  readonly webhooks?: object
  /** Absent: no webhook is audited. */
  readonly audited?: object
}

/** key: of the rule in both tables. */
function processedBy(rule: Processed, key: string): Pick<Route, 'proc' | 'procAudit'> {
  const proc = procOf(rule, key)
  return {
    ...(proc === undefined ? {} : { proc }),
    ...(rule.audited === undefined ? {} : { procAudit: guardAuditKey(key) }),
  }
}

/** A guard of MCP traffic also filters lists, and both seal sessions. */
function procOf({ attachment, webhooks }: Processed, key: string): ProcAttachment | undefined {
  const { filtersLists, jwt, mcpGuard } = attachment
  if (webhooks !== undefined)
    return { key: mcpGuard === undefined ? key : mcpGuardKey(key), mode: 'guard' }
  if (filtersLists) return { key: listsKey(key), mode: 'lists' }
  return jwt?.jwt?.mcp?.session === undefined
    ? undefined
    : { key: sessionsKey(key), mode: 'sessions' }
}

// Combines the answer headers that filters of an HTTPRoute change with those that a policy removes. The policy wins.

/** Returns undefined if no header changes. */
function answerHeaders(
  modifier: HeaderModifier | undefined,
  removed: readonly string[],
): HeaderModifier | undefined {
  if (removed.length === 0) return modifier
  const { set = [], add = [], remove = [] } = modifier ?? {}
  // Envoy removes headers before it sets others.
  const isKept = ({ name }: { readonly name: string }): boolean => !removed.includes(name)
  return {
    set: set.filter(isKept),
    add: add.filter(isKept),
    remove: [...new Set([...remove, ...removed])],
  }
}
