// Resolves the parentRefs of an HTTPRoute to listeners, or the reasons why the route does not attach.

import type { Condition, GatewayName } from '../../ir/status.js'
import { GATEWAY_API_GROUP } from '../../resources/kinds/fields.js'
import type { HttpRouteSpec } from '../../resources/kinds/http-route.js'
import { namespacePermission, type Permission } from '../listeners/allowed-namespaces.js'
import { type TranslatedGateway, translateGateway } from '../listeners/gateways.js'
import { allowsHttpRoutes, type TranslatedListener } from '../listeners/listeners.js'
import { isFalse } from '../world/conditions.js'
import type { Context } from '../world/context.js'
import { intersectHostnames, isHostnamePattern } from '../world/hostnames.js'
import { gatewayKey } from '../world/world.js'
import { ownDomains } from './listener-isolation.js'
import type { HttpRoute } from './rule-routes.js'

export interface Placement {
  /** Name of a route configuration. */
  readonly routeConfig: string
  readonly domain: string
}

export interface TranslatedParent {
  readonly gateway: GatewayName
  /** sectionName of the parentRef. */
  readonly section?: string
  readonly port?: number
  /** The listeners that the route is attached to; if empty, refusal has the reason. */
  readonly listeners: readonly ParentListener[]
  readonly refusal?: Condition
}

export interface ParentListener {
  readonly name: string
  /** Never empty. */
  readonly placements: readonly Placement[]
}

export function translateParents(context: Context, route: HttpRoute): readonly TranslatedParent[] {
  return route.spec.parentRefs
    .filter(({ group, kind }) => group === GATEWAY_API_GROUP && kind === 'Gateway')
    .flatMap((ref) => {
      const gateway = {
        namespace: ref.namespace ?? route.metadata.namespace,
        name: ref.name,
      }
      const key = gatewayKey(gateway)
      const found = translateGateway(context, key)
      if (found === 'foreign' || (found === undefined && context.options.isCluster === true))
        return []
      const place = {
        gateway,
        ...(ref.sectionName === undefined ? {} : { section: ref.sectionName }),
        ...(ref.port === undefined ? {} : { port: ref.port }),
      }
      return found === undefined
        ? [
            {
              ...place,
              listeners: [],
              refusal: refused('NoMatchingParent', `Gateway ${key} not found`),
            },
          ]
        : [{ ...place, ...attach(context, found, route, ref) }]
    })
}

type ParentRef = HttpRouteSpec['parentRefs'][number]
type Attached = Pick<TranslatedParent, 'listeners' | 'refusal'>

const refused = (reason: string, message: string): Condition => isFalse('Accepted', reason, message)

function attach(
  context: Context,
  gateway: TranslatedGateway,
  route: HttpRoute,
  ref: ParentRef,
): Attached {
  const named = gateway.listeners.filter(
    ({ spec }) =>
      (ref.sectionName === undefined || spec.name === ref.sectionName) &&
      (ref.port === undefined || spec.port === ref.port),
  )
  const none = (reason: string, message: string): Attached => ({
    listeners: [],
    refusal: refused(reason, message),
  })
  const bad = route.spec.hostnames.find((hostname) => !isHostnamePattern(hostname))
  if (bad !== undefined) return none('UnsupportedValue', `"${bad}" is not a host name`)
  if (named.length === 0)
    return none('NoMatchingParent', `Gateway ${gateway.key} has no such listener`)
  const asked = named.map((listener) => ({
    listener,
    permission: permissionOf(context, gateway, listener.spec, route),
  }))
  const allowing = asked.filter(({ permission }) => permission.isAllowed)
  if (allowing.length === 0)
    return none(
      'NotAllowedByListeners',
      `No listener of Gateway ${gateway.key} allows HTTPRoutes of namespace ${route.metadata.namespace}${doubtsOf(asked)}`,
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
      `No hostname of the route matches a listener of Gateway ${gateway.key}`,
    )
  return {
    listeners: shared.map(({ listener, domains }) => ({
      name: listener.spec.name,
      placements: placementsOf(listener, domains),
    })),
  }
}

const permissionOf = (
  context: Context,
  gateway: TranslatedGateway,
  spec: TranslatedListener['spec'],
  route: HttpRoute,
): Permission =>
  allowsHttpRoutes(spec)
    ? namespacePermission(context, gateway.gateway, spec, route.metadata.namespace)
    : { isAllowed: false }

function doubtsOf(asked: readonly { readonly permission: Permission }[]): string {
  const doubts = new Set(asked.flatMap(({ permission }) => permission.doubt ?? []))
  return doubts.size === 0 ? '' : `: ${[...doubts].join('; ')}`
}

const placementsOf = (
  { routeConfig }: TranslatedListener,
  domains: readonly string[],
): readonly Placement[] => domains.map((domain) => ({ routeConfig, domain }))
