// Where a route is under the same policies. What it is told by its own policies holds on all of its Gateways; a Gateway that
// asks for more has a scope of its own, with keys of its own, so that what holds on one Gateway never answers for another.

import type { GatewayName } from '../../ir/status.js'
import { GATEWAY_API_GROUP } from '../../resources/kinds/fields.js'
import { translateGateway } from '../listeners/gateways.js'
import { requiresPolicy } from '../listeners/parameters.js'
import { type Attachment, attachPolicies } from '../policies/attachments.js'
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
  const attachment = attachPolicies(context, target)
  const places = parents.flatMap(({ gateway, listeners }) =>
    listeners.map(({ placements }) => ({
      ...scopeAt(context, gateway, attachment),
      gateway,
      placements,
    })),
  )
  if (places.length === 0) return [{ gateways: [], placements: [], attachment, lacksPolicy: false }]
  const scopes = new Map(places.map((place) => [place.name, place]))
  return [...scopes.values()].map((scope) => {
    const own = places.filter((place) => place.name === scope.name)
    return {
      ...(scope.name === undefined ? {} : { name: scope.name }),
      gateways: uniqueGateways(own.map(({ gateway }) => gateway)),
      placements: uniquePlacements(own.flatMap(({ placements }) => placements)),
      attachment: scope.attachment,
      lacksPolicy: scope.lacksPolicy,
    }
  })
}

type ScopeAt = Pick<RouteScope, 'name' | 'attachment' | 'lacksPolicy'>

function scopeAt(context: Context, gateway: GatewayName, attachment: Attachment): ScopeAt {
  const found = translateGateway(context, gatewayKey(gateway))
  const isRequired =
    found !== undefined && found !== 'foreign' && requiresPolicy(context, found.gateway)
  return isRequired && !attachment.decides
    ? { name: gatewayKey(gateway), attachment, lacksPolicy: true }
    : { attachment, lacksPolicy: false }
}

function uniquePlacements(all: readonly Placement[]): readonly Placement[] {
  return [...new Map(all.map((place) => [keyIn(place.routeConfig, place.domain), place])).values()]
}
