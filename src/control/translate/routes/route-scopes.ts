// Groups the places of a route by the policies in force there. A route's own policies hold on all of its Gateways. If a
// Gateway adds or requires policies, each gets its own scope and table keys: no entry ever answers for another Gateway.

import type { GatewayName } from '../../../model/status.js'
import { GATEWAY_API_GROUP } from '../../schema/kinds/fields.js'
import { translateGateway } from '../listeners/gateways.js'
import { requiresPolicy } from '../listeners/parameters.js'
import { type Attachment, attachPolicies } from '../policies/attachments.js'
import { type Inherited, inheritPolicies, type RoutePlace } from '../policies/inheritance.js'
import type { Context } from '../world/context.js'
import { gatewayKey, keyIn, targetKey, uniqueGateways } from '../world/world.js'
import type { Placement, TranslatedParent } from './route-parents.js'
import type { HttpRoute } from './rule-routes.js'

/** The places where a route has the same policies. */
export interface RouteScope {
  /** Last part of the scope's keys; absent if only the route's own policies are in force. */
  readonly name?: string
  /** Sorted; empty if the route is not attached. */
  readonly gateways: readonly GatewayName[]
  /** Its listeners, as GATEWAY_NAMESPACE/GATEWAY/LISTENER_ID. */
  readonly listeners: readonly string[]
  readonly placements: readonly Placement[]
  readonly attachment: Attachment
  /** The effects of the Gateway's policies. */
  readonly inherited: readonly Inherited[]
  /** Whether no policy decides who may use the route although the Gateway requires one: it then answers 503. */
  readonly lacksPolicy: boolean
  /** Key of the Gateway if it presents a client certificate to backends. */
  readonly presenter?: string
}

/** Returns the scopes of a route, at least one. */
export function scopesOf(
  context: Context,
  { metadata: { namespace, name } }: HttpRoute,
  parents: readonly TranslatedParent[],
): readonly RouteScope[] {
  const target = targetKey(GATEWAY_API_GROUP, 'HTTPRoute', namespace, name)
  const places = parents.flatMap(({ gateway, set, listeners }) =>
    listeners.map(({ id, name: listener, placements }) => ({
      ...scopeAt(context, target, { gateway, listener, ...(set === undefined ? {} : { set }) }),
      gateway,
      placements,
      place: listenerPlace(gateway, id),
    })),
  )
  if (places.length === 0)
    return [
      {
        gateways: [],
        listeners: [],
        placements: [],
        inherited: [],
        lacksPolicy: false,
        attachment: attachPolicies(context, target),
      },
    ]
  // If one Gateway adds or requires policies, all get their own keys: no entry, old or new, may answer for another one.
  const isScoped = places.some(
    (place) => place.inherited.length > 0 || place.lacksPolicy || place.presenter !== undefined,
  )
  const named = places.map((place) => ({ ...place, name: isScoped ? place.own : undefined }))
  return [...new Set(named.map(({ name: scope }) => scope))].flatMap((scope) => {
    const own = named.filter((place) => place.name === scope)
    return own.slice(0, 1).map(({ attachment, inherited, lacksPolicy, presenter }) => ({
      ...(scope === undefined ? {} : { name: scope }),
      gateways: uniqueGateways(own.map(({ gateway }) => gateway)),
      listeners: own.map(({ place }) => place),
      placements: uniquePlacements(own.flatMap(({ placements }) => placements)),
      attachment,
      inherited,
      lacksPolicy,
      ...(presenter === undefined ? {} : { presenter }),
    }))
  })
}

/** Names a listener of a Gateway, for RouteScope.listeners. */
export const listenerPlace = (gateway: GatewayName, id: string): string =>
  keyIn(gatewayKey(gateway), id)

interface ScopeAt extends Pick<
  RouteScope,
  'attachment' | 'inherited' | 'lacksPolicy' | 'presenter'
> {
  /** Name of the Gateway, or of the ListenerSet or listener if that has its own policies. */
  readonly own: string
}

function scopeAt(context: Context, target: string, place: RoutePlace): ScopeAt {
  const { attachment, inherited, scope } = inheritPolicies(context, target, place)
  const key = gatewayKey(place.gateway)
  const found = translateGateway(context, key)
  const translated = found === 'foreign' ? undefined : found
  return {
    own: scope === undefined ? key : keyIn(key, scope),
    attachment,
    inherited,
    lacksPolicy:
      !attachment.decides &&
      translated !== undefined &&
      requiresPolicy(context, translated.gateway),
    ...(translated?.clientCertificate === undefined ? {} : { presenter: key }),
  }
}

function uniquePlacements(all: readonly Placement[]): readonly Placement[] {
  return [...new Map(all.map((place) => [keyIn(place.routeConfig, place.domain), place])).values()]
}
