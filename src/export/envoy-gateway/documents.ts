// Exports the OAuth documents of an MCP route: an HTTPRoute to the closed address, CORS, and ext_proc, which answers.

import type { MeshRoute } from '../../ir/mesh-route.js'
import { DOCUMENTS_RULES, documentsHttpRoute, targetRef } from '../gateway-api.js'
import type { Manifest } from '../manifest.js'
import { extProcPolicy } from './extension-policy.js'
import { type BackendRefs, manifestOf } from './names.js'
import { corsSpec } from './security-policy.js'

/** Returns no manifests for a route without documents. */
export function documentsManifests(route: MeshRoute, refs: BackendRefs): readonly Manifest[] {
  const { namespace, documents } = route
  if (documents === undefined) return []
  const name = documents.route
  return [
    documentsHttpRoute(route, documents, refs.closed, DOCUMENTS_RULES),
    manifestOf('SecurityPolicy', namespace, name, {
      targetRefs: [targetRef('HTTPRoute', name, DOCUMENTS_RULES.documents)],
      cors: corsSpec(documents.cors),
    }),
    extProcPolicy({ namespace, name }, name, 'documents', refs),
  ]
}
