// Translates one HTTPRoute and everything it refers to into routes, their placements, table entries and its status.

import { isDeepStrictEqual } from 'node:util'
import { atOnce, mapEach, mapWork, type Work } from '../../../kit/turns.js'
import type { AuthzEntry } from '../../../model/authz-entry.js'
import type { Destination } from '../../../model/destination.js'
import type { ForGateways } from '../../../model/for-gateways.js'
import type { MeshRoute } from '../../../model/mesh-route.js'
import type { ProcEntry } from '../../../model/proc-entry.js'
import type { WantedDocument } from '../../../model/remote-target.js'
import type { GatewayName, ResourceStatus } from '../../../model/status.js'
import { type Attachment, guardsOf, tokenPolicies } from '../policies/attachments.js'
import { auditedWebhooks, guardWebhooks } from '../policies/guard-webhooks.js'
import { statusOf } from '../world/conditions.js'
import { type Context, query, queryWork } from '../world/context.js'
import { gatewayKey, keyOf, uniqueGateways } from '../world/world.js'
import { type PlacedRelay, relaysOf } from './hosts/relay-hosts.js'
import type { OrderedRoute } from './hosts/route-order.js'
import { mcpPlacesOf, type PlacedMcp } from './mcp-places.js'
import { decidingInputs, translateMeshRoute } from './mesh-routes.js'
import { type Placement, type TranslatedParent, translateParents } from './route-parents.js'
import { boundOf } from './route-room.js'
import { translateRule } from './route-rules.js'
import { type RouteScope, scopesOf } from './route-scopes.js'
import {
  MOST_IN_ENVOY,
  rulesBeyond,
  sizesOfRules,
  sizeWithin,
  tooLargeProblem,
} from './route-sizes.js'
import { routeStatus, type ScopedRules } from './route-status.js'
import type { HttpRoute, RuleInput } from './rule-routes.js'
import { withPathsOfAll } from './table-entries.js'
import { checkDocuments } from './well-known-routes.js'

/** A translated HTTPRoute. */
export interface TranslatedRoute {
  readonly key: string
  readonly route: HttpRoute
  /** Never empty. */
  readonly scopes: readonly RouteScope[]
  /** The routes of each scope, in the order of scopes. */
  readonly placed: readonly PlacedRoutes[]
  /** The Gateways that the route is attached to, sorted. */
  readonly gateways: readonly GatewayName[]
  /** Names of the listeners that the route is attached to, by the ownerKey() of their Gateway or ListenerSet. */
  readonly listeners: ReadonlyMap<string, ReadonlySet<string>>
  readonly authz: readonly AuthzEntry[]
  readonly proc: readonly ProcEntry[]
  readonly destinations: readonly Destination[]
  readonly wanted: readonly WantedDocument[]
  /** targetKey() of every backend that the route or its policies use. */
  readonly uses: readonly string[]
  /** Headers added to its CORS filters for MCP clients (decision 13a). */
  readonly corsAdded: readonly string[]
  /** What it makes of Envoy's configuration as long as it has room (route-sizes.ts). */
  readonly size: number
  readonly status: ResourceStatus
  /** The relays that its policies ask for. */
  readonly relays: readonly PlacedRelay[]
  readonly mcps: readonly PlacedMcp[]
  /** Set for an HTTPRoute of a mesh with a policy, or that lacks a required one. */
  readonly mesh?: MeshRoute
}

/** Routes of one scope and where they are placed. */
export interface PlacedRoutes {
  readonly placements: readonly Placement[]
  readonly routes: readonly OrderedRoute[]
}

const DEFAULT_MCP_BODY_BYTES = 1024 * 1024
const DEFAULT_RATE_LIMIT_BUCKETS = 10_000

/** Name of the query about a route. */
const ROUTE = 'route'

/** Translates an HTTPRoute in slices; memoised. */
export const translatedRoute = (context: Context, route: HttpRoute): Work<TranslatedRoute> =>
  queryWork<TranslatedRoute>(context, ROUTE, route, (own, previous) =>
    routeWork(own, route, previous),
  )

/** Like translatedRoute(), at once: for what is asked after all routes were translated. */
export const translateRoute = (context: Context, route: HttpRoute): TranslatedRoute =>
  query<TranslatedRoute>(context, ROUTE, route, (own, previous) =>
    atOnce(routeWork(own, route, previous)),
  )

function* routeWork(
  context: Context,
  route: HttpRoute,
  previous: TranslatedRoute | undefined,
): Work<TranslatedRoute> {
  const parents = translateParents(context, route)
  const scopes = scopesOf(context, route, parents)
  for (const { attachment } of scopes)
    for (const { jwt } of everyPolicy(attachment))
      if (jwt?.mcp !== undefined) yield* checkDocuments(jwt.mcp, route.spec)
  const gateways = uniqueGateways(scopes.flatMap((scope) => scope.gateways))
  const scoped = scopes.map((scope) => ({ scope, inputs: inputsOf(context, route, scope) }))
  const common = {
    key: keyOf(route),
    route,
    scopes,
    gateways,
    listeners: attachedListeners(parents),
    relays: relaysOf(scopes),
    mcps: mcpPlacesOf(keyOf(route), route, scopes),
  }
  const translated =
    context.options.mesh === undefined
      ? { ...common, ...(yield* ownRoute(context, route, parents, scoped)) }
      : { ...common, ...routeOfMesh(context, route, parents, scoped) }
  const uses = [
    ...translated.uses,
    ...scopes.flatMap(({ attachment }) =>
      tokenPolicies(attachment).flatMap(({ jwt }) => jwt?.uses ?? []),
    ),
    ...scopes.flatMap(({ attachment }) => guardsOf(attachment).flatMap((guard) => guard.uses)),
  ]
  return yield* settled({ ...translated, uses }, previous)
}

/** Returns the policies in force and those of mode Audit, also those that another one replaces: statuses name them. */
const everyPolicy = ({ policies, audit }: Attachment): Attachment['policies'] => [
  ...policies,
  ...(audit?.policies ?? []),
]

type Parts = Omit<
  TranslatedRoute,
  'key' | 'route' | 'scopes' | 'gateways' | 'listeners' | 'relays' | 'mcps'
>

function* ownRoute(
  context: Context,
  route: HttpRoute,
  parents: readonly TranslatedParent[],
  inputs: readonly ScopedInputs[],
): Work<Parts> {
  const { scoped, size } = yield* translateRules(context, route, inputs)
  const rules = scoped.flatMap((each) => each.rules)
  return {
    placed: scoped.map((each) => ({
      placements: each.scope.placements,
      routes: each.rules.flatMap(({ routes }) => routes),
    })),
    ...(yield* inForce(context, scoped)),
    uses: [...new Set(rules.flatMap(({ uses }) => uses))],
    corsAdded: [...new Set(rules.flatMap(({ corsAdded }) => corsAdded))],
    size,
    status: routeStatus(route, parents, scoped),
  }
}

/** Translates an HTTPRoute of a mesh, which produces no Envoy configuration. */
function routeOfMesh(
  context: Context,
  route: HttpRoute,
  parents: readonly TranslatedParent[],
  scoped: readonly ScopedInputs[],
): Parts {
  const gateways = uniqueGateways(scoped.flatMap(({ scope }) => scope.gateways))
  const inputs = decidingInputs(scoped.map((each) => each.inputs)) ?? []
  const translated = translateMeshRoute(context, route, inputs, {
    parents,
    gateways,
    isOfOneKind: scoped.length === 1,
  })
  const [first] = scoped
  const wanted = first === undefined ? [] : wantedBy(first.scope)
  return {
    ...translated,
    wanted: gateways.length > 0 ? wanted : [],
    placed: scoped.map(({ scope: { placements } }) => ({ placements, routes: [] })),
    destinations: [],
    corsAdded: [],
    size: 0,
    status: statusOf(route, []),
  }
}

function inputsOf(
  context: Context,
  route: HttpRoute,
  { name, gateways, attachment, lacksPolicy, presenter }: RouteScope,
): readonly RuleInput[] {
  const guard = attachment.guard?.guard ?? attachment.mcpGuard?.mcpGuard
  const webhooks = guard === undefined ? undefined : guardWebhooks(context, guard, gateways)
  const audited = auditedWebhooks(context, attachment, gateways)
  return route.spec.rules.map((rule, index) => ({
    route,
    index,
    rule,
    attachment,
    lacksPolicy,
    refusals: attachment.broken,
    mcpBodyBytes: context.options.mcpBodyBytes ?? DEFAULT_MCP_BODY_BYTES,
    rateLimitBuckets: context.options.rateLimitBuckets ?? DEFAULT_RATE_LIMIT_BUCKETS,
    // Envoys of a mesh can only send the key of the rule.
    ...(name === undefined || context.options.mesh !== undefined ? {} : { scope: name }),
    ...(presenter === undefined ? {} : { presenter }),
    ...(webhooks === undefined ? {} : { webhooks }),
    ...(audited === undefined ? {} : { audited }),
  }))
}

/** Reuses the previous objects of equal parts: a change of a policy changes few of them. */
function* settled(
  now: TranslatedRoute,
  previous: TranslatedRoute | undefined,
): Work<TranslatedRoute> {
  if (previous === undefined) return now
  return {
    ...now,
    placed: yield* mapWork(now.placed.entries(), function* ([index, { placements, routes }]) {
      const before = previous.placed[index]?.routes ?? []
      return { placements, routes: yield* sameWhereEqual(before, routes) }
    }),
    authz: yield* sameWhereEqual(previous.authz, now.authz),
    proc: yield* sameWhereEqual(previous.proc, now.proc),
    status: isDeepStrictEqual(previous.status, now.status) ? previous.status : now.status,
  }
}

const sameWhereEqual = <Part>(
  before: readonly Part[],
  now: readonly Part[],
): Work<readonly Part[]> =>
  mapEach(now.entries(), ([index, part]) => {
    const known = before[index]
    return known !== undefined && isDeepStrictEqual(known, part) ? known : part
  })

type InForce = Pick<TranslatedRoute, 'authz' | 'proc' | 'destinations' | 'wanted'>

/** Collects clusters, table entries and wanted documents; none for a route that is not attached to a Gateway. */
function* inForce(context: Context, scoped: readonly ScopedRules[]): Work<InForce> {
  if (scoped.every(({ scope }) => scope.gateways.length === 0))
    return { authz: [], proc: [], destinations: [], wanted: [] }
  const all = scoped.flatMap(({ rules }) => rules)
  const authz = yield* mapEach(scoped, ({ scope, rules }) =>
    limitedTo(context, scope, withPathsOfAll(rules.flatMap((rule) => rule.authz))),
  )
  return {
    authz: authz.flat(),
    proc: scoped.flatMap(({ scope, rules }) =>
      limitedTo(
        context,
        scope,
        rules.flatMap(({ proc }) => proc),
      ),
    ),
    destinations: all.flatMap(({ destinations }) => destinations),
    // Also while the route refuses: the status reports the keys, and they are ready once it is repaired.
    wanted: scoped.flatMap(({ scope }) => wantedBy(scope)),
  }
}

/** Returns the entries for the Envoys of the scope's Gateways alone, if Envoys prove which Gateway they serve. */
function limitedTo<Entry extends ForGateways>(
  { options }: Context,
  { gateways }: RouteScope,
  entries: readonly Entry[],
): readonly Entry[] {
  if (options.provisions !== true) return entries
  const keys = gateways.map(gatewayKey)
  return entries.map((entry) => ({ ...entry, gateways: keys }))
}

const wantedBy = ({ attachment }: RouteScope): readonly WantedDocument[] =>
  tokenPolicies(attachment).flatMap(({ jwt }) => jwt?.wanted ?? [])

function attachedListeners(parents: readonly TranslatedParent[]): TranslatedRoute['listeners'] {
  const attached = new Map<string, Set<string>>()
  for (const { owner, name } of parents.flatMap(({ listeners }) => listeners))
    attached.set(owner, new Set([...(attached.get(owner) ?? []), name]))
  return attached
}

// Translates the rules of an HTTPRoute in all of its scopes. Those that make too much of Envoy's configuration refuse.

/** What the rules are translated with in a scope. */
interface ScopedInputs {
  readonly scope: RouteScope
  readonly inputs: readonly RuleInput[]
}

interface SizedRules {
  readonly scoped: readonly ScopedRules[]
  /** Their size as long as the HTTPRoute has room. */
  readonly size: number
}

/** Translates all rules; again those that are too large, which then refuse. */
function* translateRules(
  context: Context,
  route: HttpRoute,
  inputs: readonly ScopedInputs[],
): Work<SizedRules> {
  const scoped = yield* mapWork(inputs, function* ({ scope, inputs: of }) {
    return { scope, rules: yield* mapWork(of, (input) => translateRule(context, input)) }
  })
  const sizes = yield* sizesOfRules(route.spec, scoped)
  const size = sizeWithin(sizes, MOST_IN_ENVOY)
  const { most, within } = boundOf(context, route, size)
  const tooLarge = new Map(
    rulesBeyond(sizes, most).map((at) => [at, tooLargeProblem(sizes[at] ?? 0, within)]),
  )
  if (tooLarge.size === 0) return { scoped, size }
  const refusing = yield* mapWork(scoped.entries(), function* ([index, { scope, rules }]) {
    const of = inputs[index]?.inputs ?? []
    return {
      scope,
      rules: yield* mapWork(rules.entries(), function* ([at, rule]) {
        const [problem, input] = [tooLarge.get(at), of[at]]
        return problem === undefined || input === undefined
          ? rule
          : yield* translateRule(context, { ...input, tooLarge: problem })
      }),
    }
  })
  return { scoped: refusing, size }
}
