// One HTTPRoute with everything it refers to → its routes, where they are placed, and its status.

import { isDeepStrictEqual } from 'node:util'
import type { AuthzEntry } from '../../ir/authz-entry.js'
import type { Destination } from '../../ir/destination.js'
import type { MeshRoute } from '../../ir/mesh-route.js'
import type { ProcEntry } from '../../ir/proc-entry.js'
import type { WantedDocument } from '../../ir/remote-target.js'
import type { GatewayName, ResourceStatus } from '../../ir/status.js'
import { GATEWAY_API_GROUP } from '../../resources/kinds/fields.js'
import { type Attachment, attachPolicies } from '../policies/attachments.js'
import { guardWebhooks } from '../policies/guard-webhooks.js'
import { statusOf } from '../world/conditions.js'
import { type Context, query } from '../world/context.js'
import { gatewayKey, keyIn, keyOf, targetKey, uniqueGateways } from '../world/world.js'
import { type MeshParents, translateMeshRoute } from './mesh-routes.js'
import type { OrderedRoute } from './route-order.js'
import { type Placement, type TranslatedParent, translateParents } from './route-parents.js'
import { type TranslatedRule, translateRule } from './route-rules.js'
import { routeStatus } from './route-status.js'
import type { HttpRoute, RuleInput } from './rule-routes.js'
import { withPathsOfAll } from './table-entries.js'

export interface TranslatedRoute {
  readonly key: string
  readonly route: HttpRoute
  readonly routes: readonly OrderedRoute[]
  readonly placements: readonly Placement[]
  /** The Gateways that it is attached to; sorted. */
  readonly gateways: readonly GatewayName[]
  /** By gatewayKey(): the names of the listeners that it is attached to. */
  readonly listeners: ReadonlyMap<string, ReadonlySet<string>>
  readonly authz: readonly AuthzEntry[]
  readonly proc: readonly ProcEntry[]
  readonly destinations: readonly Destination[]
  readonly wanted: readonly WantedDocument[]
  /** targetKey() of every backend that it or its policies use. */
  readonly uses: readonly string[]
  readonly attachment: Attachment
  /** Headers that were added to its CORS filters for MCP clients (decision 13a). */
  readonly corsAdded: readonly string[]
  readonly status: ResourceStatus
  /** Of an HTTPRoute of a mesh, with a policy on it. */
  readonly mesh?: MeshRoute
}

const DEFAULT_MCP_BODY_BYTES = 1024 * 1024

export const translateRoute = (context: Context, route: HttpRoute): TranslatedRoute =>
  query<TranslatedRoute>(context, 'route', route, (own, previous) => {
    const { namespace, name } = route.metadata
    const parents = translateParents(own, route)
    const gateways = attachedGateways(parents)
    const attachment = attachPolicies(
      own,
      targetKey(GATEWAY_API_GROUP, 'HTTPRoute', namespace, name),
    )
    const refusals = [...attachment.broken, ...brokenOnGateways(own, gateways)]
    const guard = attachment.guard?.guard
    const webhooks = guard === undefined ? undefined : guardWebhooks(own, guard, gateways)
    const inputs = route.spec.rules.map((rule, index): RuleInput => ({
      route,
      index,
      rule,
      attachment,
      refusals,
      mcpBodyBytes: own.options.mcpBodyBytes ?? DEFAULT_MCP_BODY_BYTES,
      ...(webhooks === undefined ? {} : { webhooks }),
    }))
    const common = {
      ...{ key: keyOf(route), route, attachment, gateways },
      listeners: attachedListeners(parents),
    }
    const translated =
      own.options.mesh === undefined
        ? { ...common, ...ownRoute(own, route, inputs, { parents, gateways, attachment }) }
        : { ...common, ...routeOfMesh(own, route, inputs, { parents, gateways }) }
    const uses = [...translated.uses, ...(attachment.jwt?.jwt?.uses ?? []), ...(guard?.uses ?? [])]
    return settled({ ...translated, uses }, previous)
  })

type Parts = Omit<TranslatedRoute, 'key' | 'route' | 'attachment' | 'gateways' | 'listeners'>

function ownRoute(
  context: Context,
  route: HttpRoute,
  inputs: readonly RuleInput[],
  { parents, gateways, attachment }: MeshParents & Pick<TranslatedRoute, 'attachment'>,
): Parts {
  const rules = inputs.map((input) => translateRule(context, input))
  return {
    placements: uniquePlacements(parents),
    ...inForce(gateways.length > 0, rules, attachment),
    routes: rules.flatMap(({ routes }) => routes),
    uses: rules.flatMap(({ uses }) => uses),
    corsAdded: [...new Set(rules.flatMap(({ corsAdded }) => corsAdded))],
    status: routeStatus(route, parents, rules, attachment),
  }
}

/** Nothing of it goes to an Envoy. */
function routeOfMesh(
  context: Context,
  route: HttpRoute,
  inputs: readonly RuleInput[],
  parents: MeshParents,
): Parts {
  const { authz, ...translated } = translateMeshRoute(context, route, inputs, parents)
  const wanted = inputs[0]?.attachment.jwt?.jwt?.wanted ?? []
  return {
    ...translated,
    authz: withPathsOfAll(authz),
    wanted: parents.gateways.length > 0 ? wanted : [],
    placements: uniquePlacements(parents.parents),
    ...{ routes: [], destinations: [], corsAdded: [] },
    status: statusOf(route, []),
  }
}

/** A change of its policy changes few of its parts: those that are equal stay the same objects. */
function settled(now: TranslatedRoute, previous: TranslatedRoute | undefined): TranslatedRoute {
  if (previous === undefined) return now
  return {
    ...now,
    routes: sameWhereEqual(previous.routes, now.routes),
    authz: sameWhereEqual(previous.authz, now.authz),
    proc: sameWhereEqual(previous.proc, now.proc),
    status: isDeepStrictEqual(previous.status, now.status) ? previous.status : now.status,
  }
}

const sameWhereEqual = <Part>(before: readonly Part[], now: readonly Part[]): readonly Part[] =>
  now.map((part, index) => {
    const known = before[index]
    return known !== undefined && isDeepStrictEqual(known, part) ? known : part
  })

type InForce = Pick<TranslatedRoute, 'authz' | 'proc' | 'destinations' | 'wanted'>

/** A route that no Gateway takes needs no clusters, no table entries and no keys. */
function inForce(
  isAttached: boolean,
  rules: readonly TranslatedRule[],
  { jwt }: Attachment,
): InForce {
  if (!isAttached) return { authz: [], proc: [], destinations: [], wanted: [] }
  return {
    authz: withPathsOfAll(rules.flatMap(({ authz }) => authz)),
    proc: rules.flatMap(({ proc }) => proc),
    destinations: rules.flatMap(({ destinations }) => destinations),
    // Also while the route refuses: the status says whether there are keys, and they are there when it is mended.
    wanted: jwt?.jwt?.wanted ?? [],
  }
}

const attachedGateways = (parents: readonly TranslatedParent[]): readonly GatewayName[] =>
  uniqueGateways(
    parents.filter(({ placements }) => placements.length > 0).map(({ gateway }) => gateway),
  )

function attachedListeners(parents: readonly TranslatedParent[]): TranslatedRoute['listeners'] {
  const attached = new Map<string, Set<string>>()
  for (const { gateway, listeners } of parents) {
    const key = gatewayKey(gateway)
    attached.set(key, new Set([...(attached.get(key) ?? []), ...listeners]))
  }
  return attached
}

/** A policy that targets a Gateway is not known to us: what it was meant to protect must not be open (decision 25a). */
function brokenOnGateways(context: Context, gateways: readonly GatewayName[]): readonly string[] {
  return gateways.flatMap(({ namespace, name }) => {
    const target = targetKey(GATEWAY_API_GROUP, 'Gateway', namespace, name)
    return attachPolicies(context, target)
      .policies.filter(({ isProtective }) => isProtective)
      .map(({ key }) => key)
  })
}

function uniquePlacements(parents: readonly TranslatedParent[]): readonly Placement[] {
  const all = parents.flatMap(({ placements }) => placements)
  return [...new Map(all.map((place) => [keyIn(place.routeConfig, place.domain), place])).values()]
}
