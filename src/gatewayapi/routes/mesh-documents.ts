// Builds the ext_authz entries for the OAuth documents of a route of a mesh.

import type { AuthzEntry } from '../../ir/authz-entry.js'
import { type MeshDocuments, pathsByRule } from '../../ir/mesh-route.js'
import { routeKey } from '../../ir/names.js'
import type { Context } from '../world/context.js'
import { keyOf } from '../world/world.js'
import type { HttpRoute } from './rule-routes.js'

/** Returns the entries of the documents' route where Istio's gateways ask ext_authz about every request. */
export function documentsEntries(
  { options }: Context,
  route: HttpRoute,
  documents: MeshDocuments | undefined,
): readonly AuthzEntry[] {
  if (documents === undefined || options.mesh !== 'istio' || options.requirePolicy !== true)
    return []
  return pathsByRule(documents).map((paths, rule) => ({
    key: routeKey(route.metadata.namespace, documents.route, rule),
    route: keyOf(route),
    paths: paths.map((value) => ({
      type: paths === documents.pages ? ('Exact' as const) : ('PathPrefix' as const),
      value,
    })),
    servesDocuments: true,
  }))
}
