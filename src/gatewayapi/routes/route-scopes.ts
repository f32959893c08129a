// Where a route is under the same policies. What it is told by its own policies holds on all of its Gateways; a Gateway that
// asks for more has a scope of its own, with keys of its own, so that what holds on one Gateway never answers for another.

import type { GatewayName } from '../../ir/status.js'
import { GATEWAY_API_GROUP } from '../../resources/kinds/fields.js'
import { translateGateway } from '../listeners/gateways.js'
import { requiresPolicy } from '../listeners/parameters.js'
import { type Attachment, attachPolicies } from '../policies/attachments.js'
import { type Inherited, inheritPolicies } from '../policies/inheritance.js'
import type { Context } from '../world/context.js'
import { gatewayKey, keyIn, targetKey, uniqueGateways } from '../world/world.js'
import type { Placement, TranslatedParent } from './route-parents.js'
import type { HttpRoute } from './rule-routes.js'

export interface RouteScope {
  /** The last part of its keys; absent: of the route's own policies alone. */
  readonly name?: string
  /** Sorted. Empty: the route is attached to none. */
  readonly gateways: readonly GatewayName[]
  readonly placements: readonly Placement[]
  readonly attachment: Attachment
  /** The policies of the Gateway. */
  readonly inherited: readonly Inherited[]
  /** No policy decides who may use the route, and the Gateway requires one: it answers 503. */
  readonly lacksPolicy: boolean
}

/** At least one. */
export function scopesOf(
  context: Context,
  { metadata: { namespace, name } }: HttpRoute,
  parents: readonly TranslatedParent[],
): readonly RouteScope[] {
  const target = targetKey(GATEWAY_API_GROUP, 'HTTPRoute', namespace, name)
  const places = parents.flatMap(({ gateway, listeners }) =>
    listeners.map(({ name: listener, placements }) => ({
      ...scopeAt(context, target, gateway, listener),
      ...{ gateway, placements },
    })),
  )
  if (places.length === 0)
    return [
      {
        ...{ gateways: [], placements: [], inherited: [], lacksPolicy: false },
        attachment: attachPolicies(context, target),
      },
    ]
  // As soon as one Gateway has a say, every one has a key: what holds there must not answer for another, nor what held.
  const isScoped = places.some((place) => place.inherited.length > 0 || place.lacksPolicy)
  const named = places.map((place) => ({ ...place, name: isScoped ? place.own : undefined }))
  return [...new Set(named.map(({ name: scope }) => scope))].flatMap((scope) => {
    const own = named.filter((place) => place.name === scope)
    return own.slice(0, 1).map(({ attachment, inherited, lacksPolicy }) => ({
      ...(scope === undefined ? {} : { name: scope }),
      gateways: uniqueGateways(own.map(({ gateway }) => gateway)),
      placements: uniquePlacements(own.flatMap(({ placements }) => placements)),
      ...{ attachment, inherited, lacksPolicy },
    }))
  })
}

interface ScopeAt extends Pick<RouteScope, 'attachment' | 'inherited' | 'lacksPolicy'> {
  /** Names the Gateway, or the listener where it has policies of its own. */
  readonly own: string
}

function scopeAt(
  context: Context,
  target: string,
  gateway: GatewayName,
  listener: string,
): ScopeAt {
  const { attachment, inherited, isOfListener } = inheritPolicies(
    context,
    target,
    gateway,
    listener,
  )
  const key = gatewayKey(gateway)
  return {
    own: isOfListener ? keyIn(key, listener) : key,
    ...{ attachment, inherited },
    lacksPolicy: !attachment.decides && isRequired(context, key),
  }
}

function isRequired(context: Context, key: string): boolean {
  const gateway = translateGateway(context, key)
  return gateway !== undefined && gateway !== 'foreign' && requiresPolicy(context, gateway.gateway)
}

function uniquePlacements(all: readonly Placement[]): readonly Placement[] {
  return [...new Map(all.map((place) => [keyIn(place.routeConfig, place.domain), place])).values()]
}
