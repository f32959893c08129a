// Exports the OAuth documents of an MCP route and the pages of its relay: an HTTPRoute to the closed address, CORS for
// the documents, and ext_proc, which answers.

import type { MeshRoute } from '../../ir/mesh-route.js'
import { DOCUMENTS_RULES, documentsHttpRoute, targetRef } from '../gateway-api.js'
import type { Manifest } from '../manifest.js'
import { extProcPolicy } from './extension-policy.js'
import { type BackendRefs, manifestOf, pagesPolicyName } from './names.js'
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
    ...(documents.pages.length === 0 ? [] : [pagesPolicy(route, name)]),
    extProcPolicy({ namespace, name }, name, 'documents', refs),
  ]
}

/** Has no settings: it replaces the SecurityPolicy of the Gateway, whose CORS would let other origins read the pages. */
const pagesPolicy = ({ namespace, name }: MeshRoute, on: string): Manifest =>
  manifestOf('SecurityPolicy', namespace, pagesPolicyName(name), {
    targetRefs: [targetRef('HTTPRoute', on, DOCUMENTS_RULES.pages)],
  })
