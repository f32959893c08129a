// Finds protected HTTPRoutes whose Envoy routes have one name at one Gateway of Istio. Users choose the names of rules, and
// patches find Envoy routes by nothing else. Pure.

import type { Work } from '../../../kit/turns.js'
import type { MeshRoute } from '../../../model/mesh-route.js'
import { namespaceIn } from '../../../model/names.js'
import { nameFor } from '../../../model/status.js'
import { patchedNames } from '../export/istio/named-rules.js'

/**
 * Returns the reason why a route must have no patches of its own, by its NAMESPACE/NAME. If two routes had patches for one
 * name, the later patch would be in force on both, so an author could lend a permissive policy to the route of another
 * author. A route that is only audited loses against one that must be closed.
 */
export function* nameClashes(
  routes: readonly MeshRoute[],
  isClosed: (route: MeshRoute) => boolean,
): Work<ReadonlyMap<string, string>> {
  const first = new Map<string, string>()
  const clashes = new Map<string, string>()
  const inOrder = [...routes.filter(isClosed), ...routes.filter((route) => !isClosed(route))]
  for (const route of inOrder) {
    const own = `${route.namespace}/${route.name}`
    for (const name of patchedNames(route))
      for (const gateway of route.gateways) {
        const place = JSON.stringify([gateway.namespace, gateway.name, name])
        const other = first.get(place) ?? own
        first.set(place, other)
        if (other === own) continue
        if (!clashes.has(own)) clashes.set(own, reasonOf(own, other, name))
        if (isClosed(route) && !clashes.has(other)) clashes.set(other, reasonOf(other, own, name))
      }
    yield
  }
  return clashes
}

const reasonOf = (own: string, other: string, name: string): string =>
  `HTTPRoute ${own}: Istio gives the name "${name}" to a rule of it and to one of ${nameFor(namespaceIn(own), 'HTTPRoute', other)}, and Gatehouse could not tell them apart: expected rules without a name, or other names`
