// Finds the Services that Gatehouse's own Gateways and policies lead to. BackendTLSPolicies of other Services belong to
// other controllers.

import { memo } from '../../incremental/memo.js'
import { GATEWAY_API_GROUP } from '../kinds/fields.js'
import type { HttpRouteSpec } from '../kinds/http-route.js'
import type { Resource, Resources } from '../kinds/resources.js'

/**
 * Returns NAMESPACE/NAME of the backends of routes on these Gateways (NAMESPACE/NAME) or on ListenerSets, and of all
 * policies.
 */
export const usedServices = (
  { httpRoutes, proxyPolicies }: Resources,
  gateways: ReadonlySet<string>,
): ReadonlySet<string> =>
  new Set(
    [...httpRoutes.filter((route) => isOnOne(route, gateways)), ...proxyPolicies].flatMap(
      (resource) => servicesOf(resource),
    ),
  )

const isOnOne = (
  { metadata, spec }: Resource<HttpRouteSpec>,
  gateways: ReadonlySet<string>,
): boolean =>
  spec.parentRefs.some(
    ({ group, kind, namespace = metadata.namespace, name }) =>
      group === GATEWAY_API_GROUP &&
      (kind === 'ListenerSet' || (kind === 'Gateway' && gateways.has(`${namespace}/${name}`))),
  )

const servicesOf = memo(({ metadata, spec }: Resource<unknown>): readonly string[] =>
  backendRefsIn(spec).flatMap(({ kind, name, namespace = metadata.namespace }) =>
    kind === 'Service' ? [`${String(namespace)}/${String(name)}`] : [],
  ),
)

type Ref = Readonly<Record<string, unknown>>

/** Returns the values of all members named backendRef or backendRefs, at any depth. */
function backendRefsIn(value: unknown): readonly Ref[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([member, inner]: [string, unknown]) => [
    ...(member === 'backendRef' || member === 'backendRefs' ? ([inner].flat() as Ref[]) : []),
    ...backendRefsIn(inner),
  ])
}
