// Explains how one request is answered: finds its route in the model, runs its check with the code of the server, and
// says what each step read. Nothing is sent to backends, webhooks or documents' hosts.

import type { Resources } from '../../control/schema/kinds/resources.js'
import { matchesWhole } from '../../extauthz/cel/patterns.js'
import { decodeUnheld } from '../../extproc/guard/decoded-body.js'
import { guardedRequest } from '../../extproc/guard/request-attributes.js'
import { atOnce, runInTurns } from '../../kit/turns.js'
import type { FilterChain, Ir, Listener, VirtualHost } from '../../model/ir.js'
import type { Cors, RedirectAction, RefuseAction, Route } from '../../model/route.js'
import { isBad, type ResourceStatus } from '../../model/status.js'
import { buildRedirect } from '../../xds/translator/redirect.js'
import { routeContext } from '../../xds/translator/route-context.js'
import { type Reached, reachListener } from './choose-listener.js'
import { documentAnswer } from './document-answer.js'
import { type CheckModel, type CheckPlace, explainCheck } from './explain-check.js'
import type { ExplainRequest } from './explain-request.js'
import type { ExplainedAnswer, ExplainedPlace, Explanation } from './explanation.js'
import { guardRefusal } from './guarded-body.js'
import {
  backendsText,
  describeRoute,
  entriesOf,
  isUnresolved,
  type RouteEntries,
} from './route-parts.js'
import { allowedText, laterNotes, policiesOf } from './route-policies.js'
import { hostNameOf } from './routing/client-request.js'
import type { FoundRoute } from './routing/find-route.js'
import { headerValue, pathOf, type RoutedRequest } from './routing/match-route.js'
import type { TracedCheckDeps } from './traced-check.js'
import { byEnvoy, unrouted } from './unrouted.js'
import { refusedUpgrade } from './upgrade.js'

/** The configuration with which requests are explained. */
export interface ExplainModel extends Omit<TracedCheckDeps, 'entry'> {
  readonly ir: Ir
  readonly statuses: readonly ResourceStatus[]
  readonly resources: Pick<Resources, 'httpRoutes' | 'proxyPolicies'>
  /** --trusted-hops. */
  readonly trustedHops: number
  /** --max-body-bytes. */
  readonly maxBodyBytes: number
  /** Whether the keys are those of the command line, not of a running Gatehouse. */
  readonly isOffline: boolean
  /** Whether the Gateways belong to a mesh, which chooses the routes. */
  readonly isMesh: boolean
}

/** The parts of an explanation that depend on the route of the request. */
type Outcome = Pick<Explanation, 'result' | 'answer'> &
  Partial<Pick<Explanation, 'steps' | 'audit' | 'changes' | 'notes' | 'policies'>>

/** Explains how a request is answered by the model, and why. */
export async function explain(model: ExplainModel, request: ExplainRequest): Promise<Explanation> {
  const reached = await runInTurns(reachListener(model.ir, request))
  const place = reached.ok ? placeOf(reached.value, model) : {}
  const outcome = reached.ok
    ? await outcomeAt(model, request, reached.value)
    : unreached(model, reached.error)
  const { scheme, authority, method, target } = request
  const { audit } = outcome
  const notes = [...(reached.ok ? reached.value.notes : []), ...(outcome.notes ?? [])]
  return {
    request: { method, url: `${scheme}://${authority}${pathOf(target)}` },
    result: outcome.result,
    answer: method === 'HEAD' ? withoutBody(outcome.answer) : outcome.answer,
    place,
    policies: outcome.policies ?? [],
    steps: outcome.steps ?? [],
    ...(audit && { audit }),
    changes: outcome.changes ?? [],
    notes,
  }
}

const withBody = (request: ExplainRequest, body: Uint8Array | undefined): ExplainRequest =>
  body === undefined ? request : { ...request, body }

const withoutBody = ({ body: _, ...answer }: ExplainedAnswer): ExplainedAnswer => answer

const unreached = ({ isMesh }: ExplainModel, why: string): Outcome => ({
  result: 'unrouted',
  answer: { from: 'nobody', text: `the connection is refused: ${why}` },
  changes: isMesh
    ? [
        'The Gateways belong to a mesh, which chooses the route: only Gateways of Gatehouse are explained',
      ]
    : ['Send the request to a port that a Gateway listens on'],
})

function placeOf({ place, found }: Reached, { resources }: ExplainModel): ExplainedPlace {
  const { gateway, listener } = place
  const isTls = listener.chains.some(({ tls }) => tls !== undefined)
  const route = found.type === 'route' ? describeRoute(found.route, resources) : undefined
  return {
    gateway: `${gateway.namespace}/${gateway.name}`,
    listener: { name: listener.name, port: listener.port, protocol: isTls ? 'HTTPS' : 'HTTP' },
    ...('host' in found && { host: found.host.domains.join(', ') }),
    ...(route && { route }),
  }
}

async function outcomeAt(
  model: ExplainModel,
  request: ExplainRequest,
  reached: Reached,
): Promise<Outcome> {
  const { found } = reached
  if (found.type === 'route') return outcomeOn(model, request, { ...reached, found })
  return { result: 'unrouted', ...unrouted(found) }
}

/** A request whose route was found. */
interface OnRoute extends Reached {
  readonly found: Extract<FoundRoute, { readonly type: 'route' }>
}

async function outcomeOn(
  model: ExplainModel,
  request: ExplainRequest,
  reached: OnRoute,
): Promise<Outcome> {
  const { route } = reached.found
  const entries = entriesOf(model.ir, route)
  const policies = policiesOf(route, entries)
  const early = beforeCheck(model, reached, entries)
  if (early !== undefined) return { policies, ...early }
  if (route.action.type === 'answered')
    return { policies, ...(await answeredOutcome(model, request, reached, entries.proc)) }
  const { authz } = entries
  const openText = allowedText(authz, policies, false)
  if (authz === undefined)
    return { policies, ...(await guarded(model, request, { reached, entries, text: openText })) }
  const limit = isForAudits(route) ? undefined : route.authzBodyBytes
  const held = await heldRequest(reached.found, request.body)
  const isLarge = held === 'too large' || (request.body?.length ?? 0) > (limit ?? Infinity)
  if (limit !== undefined && isLarge)
    return { policies, ...(await largeBody(model, request, { ...reached, authz }, limit)) }
  const place = held === 'too large' ? reached : { ...reached, found: held.found }
  const given = held === 'too large' ? request : withBody(request, held.body)
  const { decision, ...check } = await explainCheck(model, given, { ...place, authz })
  if (authz.isClosed === true)
    return { policies, result: 'refused', ...check, changes: changesOf(route, model) }
  if (decision.type === 'reply') return { policies, result: 'denied', ...check }
  const text = allowedText(authz, policies, decision.token !== undefined)
  const outcome = await guarded(model, given, { reached: place, entries, text })
  const isAnswered = outcome.answer.from === 'backend'
  const answer = { ...outcome.answer, ...(isAnswered && { reason: decision.reason }) }
  return { policies, ...check, ...outcome, answer }
}

/** Whether the body is read for policies of mode Audit alone, for which Envoy passes on a larger one. */
const isForAudits = ({ isAudited, isBodyAudited }: Route): boolean =>
  isAudited === true || isBodyAudited === true

interface AllowedRequest {
  readonly reached: OnRoute
  readonly entries: RouteEntries
  /** Why the check allows it. */
  readonly text: string
}

/** Returns the answer of a request that the check allows: the guard's own, or one of a backend. */
async function guarded(
  { maxBodyBytes }: ExplainModel,
  { body }: ExplainRequest,
  { reached, entries, text }: AllowedRequest,
): Promise<Outcome> {
  const { found, scheme } = reached
  const { action } = found.route
  const refused =
    action.type === 'forward'
      ? await guardRefusal(entries.proc, { request: found.request, scheme, body, maxBodyBytes })
      : undefined
  return refused ?? passed(reached, entries, text)
}

/** Returns the answer if something before the check answers; undefined: the request is checked. */
function beforeCheck(
  model: ExplainModel,
  { found, place, scheme }: OnRoute,
  { authz }: RouteEntries,
): Outcome | undefined {
  const { route, request } = found
  const upgrade = refusedUpgrade(route, request)
  if (upgrade !== undefined) return upgrade
  const preflight = preflightOn(route, request)
  if (preflight !== undefined) return preflightOutcome(preflight.isAllowed)
  const { action } = route
  if (action.type === 'redirect') {
    const location = redirectLocation({ ...found, ...place, action }, request, scheme)
    const answer = { ...byEnvoy(action.statusCode, `redirect to ${location}`) }
    return authz === undefined
      ? { result: 'redirected', answer: { ...answer, headers: [['location', location]] } }
      : undefined
  }
  if (action.type === 'misdirected') return MISDIRECTED
  if (action.type === 'refuse' && authz === undefined) return refusedRoute(action, found, model)
  return undefined
}

const preflightOutcome = (isAllowed: boolean): Outcome => ({
  result: 'preflight',
  answer: byEnvoy(
    200,
    isAllowed
      ? 'a CORS preflight, which needs no token: the origin is allowed'
      : 'a CORS preflight whose origin is not allowed: without CORS headers, so the browser sends no request',
  ),
  changes: isAllowed ? [] : ['Add the origin to allowOrigins of the CORS filter of the HTTPRoute'],
})

const MISDIRECTED: Outcome = {
  result: 'unrouted',
  answer: byEnvoy(421, 'another listener of the port serves this host, on a connection of its own'),
  changes: ['Connect with the host as server name (SNI)'],
}

function refusedRoute(
  { status, body }: RefuseAction,
  { route }: OnRoute['found'],
  model: ExplainModel,
): Outcome {
  return {
    result: 'refused',
    answer: { ...byEnvoy(status, 'the route refuses every request'), body },
    changes: changesOf(route, model),
  }
}

/** Returns what would open a route that refuses every request. */
function changesOf(route: Route, model: ExplainModel): readonly string[] {
  const reasons = refusalReasons(route, model)
  return reasons.length > 0 ? reasons : ['`gatehouse check` says what is wrong']
}

function answeredOutcome(
  { trustedHops, isOffline, now }: ExplainModel,
  { sourceAddress, body }: ExplainRequest,
  { found: { request }, scheme }: OnRoute,
  proc: RouteEntries['proc'],
): Outcome | Promise<Outcome> {
  const given = { request, scheme, sourceAddress, body, trustedHops, isOffline, now }
  return proc?.type === 'well-known' ? documentAnswer(proc, given) : UNANSWERED
}

const UNANSWERED: Outcome = {
  result: 'refused',
  answer: byEnvoy(503, 'no policy of the route has OAuth documents'),
}

/** Returns the answer of an allowed request. text: why it is allowed. */
function passed({ found, place, scheme }: OnRoute, entries: RouteEntries, text: string): Outcome {
  const { route, request } = found
  const { action } = route
  const notes = laterNotes(route, entries)
  if (action.type === 'redirect') {
    const location = redirectLocation({ ...found, ...place, action }, request, scheme)
    const answer = byEnvoy(action.statusCode, `redirect to ${location}; ${text}`)
    return { result: 'redirected', answer: { ...answer, headers: [['location', location]] } }
  }
  if (action.type === 'forward' && isUnresolved(action)) return { ...UNRESOLVED, notes }
  const to = action.type === 'forward' ? ` by ${backendsText(action)}` : ''
  return { result: 'allowed', answer: { from: 'backend', text: `answered${to}; ${text}` }, notes }
}

const UNRESOLVED: Outcome = {
  result: 'refused',
  answer: byEnvoy(500, 'no backendRef of the rule resolves'),
  changes: [
    'Correct the backendRefs: the condition ResolvedRefs of the HTTPRoute says what is wrong',
  ],
}

/** The documents of providers that the answer to a request depends on. */
export interface NeededDocuments {
  /** Ids of the key sets that the check reads (WantedDocument.id). */
  readonly keySets: readonly string[]
  /** Whether the answer is made of the provider's discovery document. */
  readonly discovery: boolean
}

/** Returns the documents that an explanation of the request needs. */
export function neededFor(ir: Ir, request: ExplainRequest): NeededDocuments {
  const reached = atOnce(reachListener(ir, request))
  if (!reached.ok || reached.value.found.type !== 'route') return { keySets: [], discovery: false }
  const { route } = reached.value.found
  const { authz } = entriesOf(ir, route)
  const providers = [...(authz?.jwt?.providers ?? []), ...(authz?.audit?.jwt?.providers ?? [])]
  return {
    keySets: providers.flatMap(({ keySet: { source } }) =>
      source.type === 'remote' ? [source.id] : [],
    ),
    discovery: route.action.type === 'answered',
  }
}

// Computes the Location header that Envoy derives from a route's RedirectAction.

type EnvoyRedirect = ReturnType<typeof buildRedirect>

/** The redirect and where it was found. */
export interface RedirectPlace {
  readonly listener: Listener
  readonly chain: FilterChain
  readonly host: VirtualHost
  readonly route: Route
  readonly action: RedirectAction
}

/** Returns the URL that the client is sent to. scheme: of the request. */
function redirectLocation(
  { listener, chain, host, route, action }: RedirectPlace,
  request: RoutedRequest,
  scheme: 'http' | 'https',
): string {
  const redirect = buildRedirect(action, route.match.path, routeContext(listener, chain, host))
  const { schemeRewriteSpecifier: rewritten, portRedirect } = redirect
  const newScheme = rewritten.case === 'schemeRedirect' ? rewritten.value : scheme
  const port = portRedirect === 0 ? '' : `:${String(portRedirect)}`
  const newHost =
    redirect.hostRedirect === ''
      ? keptHost(request.authority, { scheme, newScheme, hasPort: port !== '' })
      : redirect.hostRedirect
  return `${newScheme}://${newHost}${port}${newTarget(redirect, route, request)}`
}

/** Drops the port of the request's host if it is replaced, or if it is the default of a scheme that is replaced. */
function keptHost(
  authority: string,
  change: {
    readonly scheme: string
    readonly newScheme: string
    readonly hasPort: boolean
  },
): string {
  const port = authority.slice(hostNameOf(authority).length)
  const { scheme, newScheme, hasPort } = change
  const isOldDefault = scheme !== newScheme && port === (scheme === 'https' ? ':443' : ':80')
  return hasPort || isOldDefault ? authority.slice(0, authority.length - port.length) : authority
}

function newTarget(
  { pathRewriteSpecifier: rewrite }: EnvoyRedirect,
  { match }: Route,
  { target }: RoutedRequest,
): string {
  const path = pathOf(target)
  const query = target.slice(path.length)
  switch (rewrite.case) {
    case 'pathRedirect':
      return rewrite.value.includes('?') ? rewrite.value : rewrite.value + query
    case 'prefixRewrite':
      return rewrite.value + path.slice(match.path.value.length) + query
    case 'regexRewrite': {
      const { pattern, substitution } = rewrite.value
      const text = substitution.replaceAll('\\\\', '\\')
      return path.replace(new RegExp(pattern?.regex ?? '$^'), () => text) + query
    }
    default:
      return target
  }
}

// Finds out why a route refuses every request: the conditions that report a problem of it or of a policy for it.

/** The resources and their statuses. */
export interface RefusalSources {
  readonly statuses: readonly ResourceStatus[]
  readonly resources: Pick<Resources, 'proxyPolicies'>
}

/** Returns a sentence for each bad condition of the HTTPRoute, and of policies that may be for it. */
function refusalReasons(
  { name }: Route,
  { statuses, resources }: RefusalSources,
): readonly string[] {
  const isFor = (namespace: string, httpRoute: string): boolean =>
    name.startsWith(`${namespace}/${httpRoute}/`)
  const policies = new Set(
    resources.proxyPolicies
      .filter(({ metadata, spec }) =>
        spec.targetRefs.some(({ kind, name: target }) =>
          kind === 'HTTPRoute' ? isFor(metadata.namespace, target) : kind === 'Gateway',
        ),
      )
      .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`),
  )
  const isOfRoute = ({ kind, namespace: own, name: named }: ResourceStatus): boolean =>
    kind === 'HTTPRoute' && isFor(own, named)
  const isOfPolicy = ({ kind, namespace: own, name: named }: ResourceStatus): boolean =>
    kind === 'ProxyPolicy' && policies.has(`${own}/${named}`)
  const sentences = statuses.flatMap((status) =>
    status.conditions
      .filter(
        (condition) =>
          isBad(condition) &&
          (isOfRoute(status) || (isOfPolicy(status) && condition.type === 'Accepted')),
      )
      .map(
        ({ type, reason, message }) =>
          `${status.kind} ${status.namespace}/${status.name}: ${type} (${reason}): ${message.replaceAll('\n', '; ')}`,
      ),
  )
  return [...new Set(sentences)]
}

// The request that a check gets where Gatehouse holds the body before it: without the encoding of its body.

interface Found {
  readonly route: Route
  readonly request: RoutedRequest
}

/** A request as it is checked. */
export interface HeldRequest<F extends Found> {
  readonly found: F
  readonly body: Uint8Array | undefined
}

/** Returns a body that cannot be decoded as it is: the check refuses it. too large: it is, once it is decoded. */
async function heldRequest<F extends Found>(
  found: F,
  body: Uint8Array | undefined,
): Promise<HeldRequest<F> | 'too large'> {
  const { route, request } = found
  const { authzBodyBytes: limit = Infinity } = route
  const encoding = encodingOf(request)
  if (route.uncheckedBody === undefined || body === undefined || encoding === '')
    return { found, body }
  const decoded = await decodeUnheld(body, encoding, limit)
  if (decoded === undefined || decoded === 'too large') return decoded ?? { found, body }
  const headers = request.headers.filter(([name]) => !OF_THE_BODY.includes(name))
  return { found: { ...found, request: { ...request, headers } }, body: decoded }
}

const OF_THE_BODY = ['content-encoding', 'content-length']

/** "": none, or one that is not decoded. */
function encodingOf({ headers }: RoutedRequest): string {
  const values = headers.flatMap(([name, value]) => (name === 'content-encoding' ? [value] : []))
  return guardedRequest(new Map([['content-encoding', values]])).encoding ?? ''
}

// Explains the answer to a body that is larger than rules may read.

type Denial = Pick<Explanation, 'result' | 'answer' | 'changes'> & Partial<Explanation>

/** Returns the refusal of the headers, which are checked first where a token is required, or that of the body. */
async function largeBody(
  model: CheckModel,
  { body: _, ...request }: ExplainRequest,
  place: CheckPlace,
  limit: number,
): Promise<Denial> {
  if (place.found.route.checksHead === true) {
    const { decision, ...check } = await explainCheck({ ...model, isHead: true }, request, place)
    if (decision.type === 'reply') return { result: 'denied', ...check }
  }
  return {
    result: 'denied',
    answer: {
      from: 'Gatehouse',
      status: 413,
      reason: 'body-too-large',
      text: `the body is larger than ${String(limit)} bytes, which rules may read here`,
    },
    changes: ['Send a smaller body, or raise --mcp-body-bytes'],
  }
}

// Determines what Envoy's CORS filter does with a request on a route with CORS.

/** Whether the CORS filter answers the request itself, and whether it allows the origin. */
function preflightOn(
  { cors }: Route,
  request: RoutedRequest,
): { readonly isAllowed: boolean } | undefined {
  if (cors === undefined || request.method !== 'OPTIONS') return undefined
  const origin = headerValue(request, 'origin')
  const asked = headerValue(request, 'access-control-request-method')
  if (origin === undefined || origin === '' || asked === undefined || asked === '') return undefined
  return { isAllowed: allows(cors, origin) }
}

const allows = ({ allowOrigins }: Cors, origin: string): boolean =>
  allowOrigins.some((allowed) =>
    allowed === '*' || !allowed.includes('*')
      ? allowed === '*' || allowed === origin
      : matchesWhole(origin, allowed.split('*').map(quoted).join('[a-zA-Z0-9.-]+')),
  )

const quoted = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
