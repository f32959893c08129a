// Exports the OAuth documents of an MCP route: an HTTPRoute to the closed Backend, CORS, and ext_proc, which answers.
// Direct responses would not do: Envoy's CORS filter skips them, and clients in browsers could not read the documents.

import type { MeshDocuments, MeshRoute } from '../../ir/mesh-route.js'
import { type Manifest, metadataOf } from '../manifest.js'
import { extProcPolicy } from './extension-policy.js'
import { CLOSED_BACKEND, manifestOf, parentRef, targetRef, toBackend } from './names.js'
import { corsSpec } from './security-policy.js'

/** Names of the rules, in the order of the table's keys. */
const DOCUMENTS = 'documents'
const PAGES = 'pages'

/** Returns no manifests for a route without documents. */
export function documentsManifests(route: MeshRoute): readonly Manifest[] {
  const { namespace, documents } = route
  if (documents === undefined) return []
  const name = documents.route
  return [
    {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'HTTPRoute',
      metadata: metadataOf(namespace, name),
      spec: {
        parentRefs: route.parents.map(parentRef),
        ...(route.hostnames.length === 0 ? {} : { hostnames: route.hostnames }),
        rules: rulesOf(documents),
      },
    },
    // The pages of a relay have a rule without CORS: pages of other origins must not read them.
    manifestOf('SecurityPolicy', namespace, name, {
      targetRefs: [targetRef('HTTPRoute', name, DOCUMENTS)],
      cors: corsSpec(documents.cors),
    }),
    extProcPolicy({ namespace, name }, name, 'documents'),
  ]
}

const rulesOf = ({ documents, pages }: MeshDocuments): readonly object[] => [
  ruleOf(DOCUMENTS, 'PathPrefix', documents),
  ...(pages.length === 0 ? [] : [ruleOf(PAGES, 'Exact', pages)]),
]

const ruleOf = (name: string, type: 'PathPrefix' | 'Exact', paths: readonly string[]): object => ({
  name,
  matches: paths.map((value) => ({ path: { type, value } })),
  backendRefs: [toBackend(CLOSED_BACKEND)],
})
