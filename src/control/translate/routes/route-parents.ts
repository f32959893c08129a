// Resolves the parentRefs of an HTTPRoute (Gateways and ListenerSets) to listeners, or the reasons why the route does not attach.

import { intersectHostnames, isHostnamePattern } from '../../../model/hostnames.js'
import type { Condition, GatewayName } from '../../../model/status.js'
import { GATEWAY_API_GROUP } from '../../schema/kinds/fields.js'
import type { HttpRouteSpec } from '../../schema/kinds/http-route.js'
import { namespacePermission, type Permission } from '../listeners/allowed-namespaces.js'
import { type TranslatedGateway, translateGateway } from '../listeners/gateways.js'
import { gatewayOf, listenersOfSet } from '../listeners/listener-set-status.js'
import { setPermission } from '../listeners/listener-sets.js'
import { allowsHttpRoutes, isOfSet, type TranslatedListener } from '../listeners/listeners.js'
import { isFalse } from '../world/conditions.js'
import type { Context } from '../world/context.js'
import { gatewayKey, ownerKey } from '../world/world.js'
import { ownDomains } from './hosts/listener-isolation.js'
import type { HttpRoute } from './rule-routes.js'

/** A domain of a route configuration, where routes are placed. */
export interface Placement {
  /** Name of a route configuration. */
  readonly routeConfig: string
  readonly domain: string
}

/** A parentRef with the listeners that it resolves to. */
export interface TranslatedParent {
  readonly gateway: GatewayName
  /** The ListenerSet that the parentRef names; absent: it names the Gateway. */
  readonly set?: GatewayName
  /** sectionName of the parentRef. */
  readonly section?: string
  readonly port?: number
  /** The listeners that the route is attached to; if empty, refusal has the reason. */
  readonly listeners: readonly ParentListener[]
  readonly refusal?: Condition
}

/** A listener that a route attaches to. */
export interface ParentListener {
  /** Unique in the Gateway (TranslatedListener.id). */
  readonly id: string
  readonly name: string
  /** The ownerKey() of the Gateway or ListenerSet that has the listener. */
  readonly owner: string
  /** Empty if the listener is refused: another one may have its port and host name. */
  readonly placements: readonly Placement[]
}

/** Resolves the parentRefs of a route. */
export function translateParents(context: Context, route: HttpRoute): readonly TranslatedParent[] {
  return route.spec.parentRefs
    .filter(({ group }) => group === GATEWAY_API_GROUP)
    .flatMap((ref) => {
      if (ref.kind === 'Gateway') return atGateway(context, route, ref)
      return ref.kind === 'ListenerSet' ? atListenerSet(context, route, ref) : []
    })
}

function atGateway(
  context: Context,
  route: HttpRoute,
  ref: ParentRef,
): readonly TranslatedParent[] {
  const gateway = namedBy(ref, route)
  const key = gatewayKey(gateway)
  const found = translateGateway(context, key)
  if (found === 'foreign' || (found === undefined && context.options.isCluster === true)) return []
  const place = { gateway, ...sectionOf(ref) }
  if (found === undefined)
    return [{ ...place, ...none('NoMatchingParent', `Gateway ${key} not found`) }]
  const own = found.listeners.filter(({ owner }) => !isOfSet(owner))
  const parent = { gateway: found, listeners: own, text: `Gateway ${key}` }
  return [{ ...place, ...attach(context, parent, route, ref) }]
}

function atListenerSet(
  context: Context,
  route: HttpRoute,
  ref: ParentRef,
): readonly TranslatedParent[] {
  const set = namedBy(ref, route)
  const key = gatewayKey(set)
  const text = `ListenerSet ${key}`
  const resource = context.reader.read('listenerSets', key)
  const gateway = resource && gatewayOf(context, resource)
  if (resource === undefined || gateway === undefined) {
    // In a cluster, the parent of another controller's Gateway is that controller's concern.
    if (context.options.isCluster === true) return []
    const why = resource === undefined ? `${text} not found` : `${text} has no Gateway`
    return [{ gateway: set, set, ...sectionOf(ref), ...none('NoMatchingParent', why) }]
  }
  const { namespace, name } = gateway.gateway.metadata
  const place = { gateway: { namespace, name }, set, ...sectionOf(ref) }
  if (!setPermission(context, gateway.gateway, resource).isAllowed)
    return [{ ...place, ...none('NoMatchingParent', `${text} is not allowed by its Gateway`) }]
  const listeners = listenersOfSet(context, resource, gateway)
  return [{ ...place, ...attach(context, { gateway, listeners, text }, route, ref) }]
}

const namedBy = ({ namespace, name }: ParentRef, { metadata }: HttpRoute): GatewayName => ({
  namespace: namespace ?? metadata.namespace,
  name,
})

const sectionOf = ({
  sectionName,
  port,
}: ParentRef): Pick<TranslatedParent, 'section' | 'port'> => ({
  ...(sectionName === undefined ? {} : { section: sectionName }),
  ...(port === undefined ? {} : { port }),
})

type ParentRef = HttpRouteSpec['parentRefs'][number]
type Attached = Pick<TranslatedParent, 'listeners' | 'refusal'>

const none = (reason: string, message: string): Attached => ({
  listeners: [],
  refusal: isFalse('Accepted', reason, message),
})

interface Parent {
  readonly gateway: TranslatedGateway
  /** Listeners of the Gateway itself, or of the ListenerSet. */
  readonly listeners: readonly TranslatedListener[]
  /** Kind and name, for messages. */
  readonly text: string
}

function attach(
  context: Context,
  { gateway, listeners, text }: Parent,
  route: HttpRoute,
  ref: ParentRef,
): Attached {
  const named = listeners.filter(
    ({ spec }) =>
      (ref.sectionName === undefined || spec.name === ref.sectionName) &&
      (ref.port === undefined || spec.port === ref.port),
  )
  const bad = route.spec.hostnames.find((hostname) => !isHostnamePattern(hostname))
  if (bad !== undefined) return none('UnsupportedValue', `"${bad}" is not a host name`)
  if (named.length === 0) return none('NoMatchingParent', `${text} has no such listener`)
  const asked = named.map((listener) => ({
    listener,
    permission: permissionOf(context, listener, route),
  }))
  const allowing = asked.filter(({ permission }) => permission.isAllowed)
  if (allowing.length === 0)
    return none(
      'NotAllowedByListeners',
      `No listener of ${text} allows HTTPRoutes of namespace ${route.metadata.namespace}${doubtsOf(asked)}`,
    )
  const shared = allowing
    .map(({ listener }) => ({
      listener,
      domains: ownDomains(
        listener,
        gateway.listeners,
        intersectHostnames(listener.spec.hostname, route.spec.hostnames),
      ),
    }))
    .filter(({ domains }) => domains.length > 0)
  if (shared.length === 0)
    return none(
      'NoMatchingListenerHostname',
      `No hostname of the route matches a listener of ${text}`,
    )
  return {
    listeners: shared.map(({ listener, domains }) => ({
      id: listener.id,
      name: listener.spec.name,
      owner: ownerKey({ kind: listener.owner.kind, ...listener.owner.metadata }),
      placements: placementsOf(listener, domains),
    })),
  }
}

function permissionOf(
  context: Context,
  { spec, owner }: TranslatedListener,
  route: HttpRoute,
): Permission {
  const { namespaces } = spec.allowedRoutes
  const allowed = { ...namespaces, own: owner.metadata.namespace, of: `listener ${spec.name}` }
  return allowsHttpRoutes(spec)
    ? namespacePermission(context, allowed, route.metadata.namespace)
    : { isAllowed: false }
}

function doubtsOf(asked: readonly { readonly permission: Permission }[]): string {
  const doubts = new Set(asked.flatMap(({ permission }) => permission.doubt ?? []))
  return doubts.size === 0 ? '' : `: ${[...doubts].join('; ')}`
}

const placementsOf = (
  { routeConfig, isProgrammed }: TranslatedListener,
  domains: readonly string[],
): readonly Placement[] => (isProgrammed ? domains.map((domain) => ({ routeConfig, domain })) : [])
