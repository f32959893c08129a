// Finds the Services that Gatehouse's own Gateways and policies lead to. BackendTLSPolicies of other Services belong to
// other controllers.

import { memo } from '../../incremental/memo.js'
import type { Work } from '../../turns.js'
import { GATEWAY_API_GROUP } from '../kinds/fields.js'
import type { HttpRouteSpec } from '../kinds/http-route.js'
import type { Resource, Resources } from '../kinds/resources.js'

/**
 * Returns NAMESPACE/NAME of the backends of routes on these Gateways (NAMESPACE/NAME) or on ListenerSets, and of all
 * policies.
 */
export type UsedServices = (
  resources: Resources,
  gateways: ReadonlySet<string>,
) => Work<ReadonlySet<string>>

/** Creates a function that looks into each route and policy once. */
export function createUsedServices(): UsedServices {
  const servicesOf = memo(servicesIn)
  return (resources, gateways) => usedServices(resources, gateways, servicesOf)
}

function* usedServices(
  { httpRoutes, proxyPolicies }: Resources,
  gateways: ReadonlySet<string>,
  servicesOf: typeof servicesIn,
): Work<ReadonlySet<string>> {
  const used = new Set<string>()
  for (const resource of [
    ...httpRoutes.filter((route) => isOnOne(route, gateways)),
    ...proxyPolicies,
  ]) {
    yield
    for (const service of servicesOf(resource)) used.add(service)
  }
  return used
}

const isOnOne = (
  { metadata, spec }: Resource<HttpRouteSpec>,
  gateways: ReadonlySet<string>,
): boolean =>
  spec.parentRefs.some(
    ({ group, kind, namespace = metadata.namespace, name }) =>
      group === GATEWAY_API_GROUP &&
      (kind === 'ListenerSet' || (kind === 'Gateway' && gateways.has(`${namespace}/${name}`))),
  )

const servicesIn = ({ metadata, spec }: Resource<unknown>): readonly string[] =>
  backendRefsIn(spec).flatMap(({ kind, name, namespace = metadata.namespace }) =>
    kind === 'Service' ? [`${String(namespace)}/${String(name)}`] : [],
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
