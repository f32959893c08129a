// Explains how one request is answered: finds its route in the model, runs its check with the code of the server, and
// says what each step read. Nothing is sent to backends, webhooks or documents' hosts.

import type { Ir } from '../ir/ir.js'
import type { RefuseAction, Route } from '../ir/route.js'
import { type ResourceStatus } from '../ir/status.js'
import type { Resources } from '../resources/kinds/resources.js'
import type { FoundRoute } from '../routing/find-route.js'
import { pathOf } from '../routing/match-route.js'
import { atOnce, runInTurns } from '../turns.js'
import { type Reached, reachListener } from './choose-listener.js'
import { documentAnswer } from './document-answer.js'
import { explainCheck } from './explain-check.js'
import type { ExplainRequest } from './explain-request.js'
import type { ExplainedAnswer, ExplainedPlace, Explanation } from './explanation.js'
import { guardRefusal } from './guarded-body.js'
import { largeBody } from './large-body.js'
import { preflightOn } from './preflight.js'
import { redirectLocation } from './redirect-location.js'
import { refusalReasons } from './refusal-reasons.js'
import {
  backendsText,
  describeRoute,
  entriesOf,
  isUnresolved,
  type RouteEntries,
} from './route-parts.js'
import { allowedText, laterNotes, policiesOf } from './route-policies.js'
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
  if (limit !== undefined && (request.body?.length ?? 0) > limit)
    return { policies, ...(await largeBody(model, request, { ...reached, authz }, limit)) }
  const { decision, ...check } = await explainCheck(model, request, { ...reached, authz })
  if (authz.isClosed === true)
    return { policies, result: 'refused', ...check, changes: changesOf(route, model) }
  if (decision.type === 'reply') return { policies, result: 'denied', ...check }
  const text = allowedText(authz, policies, decision.token !== undefined)
  const outcome = await guarded(model, request, { reached, entries, text })
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
