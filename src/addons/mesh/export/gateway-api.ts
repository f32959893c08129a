// Builds the parts of manifests that are plain Gateway API, for every mesh.

import type { MeshDocuments, MeshParent, MeshRoute } from '../../../model/mesh-route.js'
import { nameAfter } from '../../../model/names.js'
import { type Manifest, metadataOf } from './manifest.js'

const GROUP = 'gateway.networking.k8s.io'

/** Name of the policies on an HTTPRoute or a Gateway. */
export const policyName = (target: string): string => nameAfter('gatehouse-', target)

/** Reference to the target of a policy. rule: name of a rule of the target. */
export const targetRef = (kind: 'HTTPRoute' | 'Gateway', name: string, rule?: string): object => ({
  group: GROUP,
  kind,
  name,
  ...(rule === undefined ? {} : { sectionName: rule }),
})

/** Fields of an HTTPRoute that exported routes share with the protected one. */
export const routeFields = ({ parents, hostnames }: MeshRoute): object => ({
  parentRefs: parents.map(parentRef),
  ...(hostnames.length === 0 ? {} : { hostnames }),
})

const parentRef = ({ group, kind, namespace, name, sectionName, port }: MeshParent): object => ({
  group,
  kind,
  ...(namespace === undefined ? {} : { namespace }),
  name,
  ...(sectionName === undefined ? {} : { sectionName }),
  ...(port === undefined ? {} : { port }),
})

/** An HTTPRoute. */
export const httpRoute = (metadata: Manifest['metadata'], spec: object): Manifest => ({
  apiVersion: `${GROUP}/v1`,
  kind: 'HTTPRoute',
  metadata,
  spec,
})

/** Names for the rules of the documents' HTTPRoute, in the order of the table's keys. */
export const DOCUMENTS_RULES = { documents: 'documents', pages: 'pages' } as const

/**
 * The HTTPRoute of the OAuth documents, which leads to a backend that never answers: ext_proc answers before that.
 * Direct responses would not do: Envoy's CORS filter skips them, and clients in browsers could not read the documents.
 * @param closed reference to that backend.
 */
export const documentsHttpRoute = (
  route: MeshRoute,
  documents: MeshDocuments,
  closed: object,
  names: Partial<typeof DOCUMENTS_RULES> = {},
): Manifest =>
  httpRoute(metadataOf(route.namespace, documents.route), {
    ...routeFields(route),
    rules: [
      ruleOf(names.documents, 'PathPrefix', documents.documents, closed),
      // The pages of a relay have a rule without CORS: pages of other origins must not read them.
      ...(documents.pages.length === 0
        ? []
        : [ruleOf(names.pages, 'Exact', documents.pages, closed)]),
    ],
  })

const ruleOf = (
  name: string | undefined,
  type: 'PathPrefix' | 'Exact',
  paths: readonly string[],
  closed: object,
): object => ({
  ...(name === undefined ? {} : { name }),
  matches: paths.map((value) => ({ path: { type, value } })),
  backendRefs: [closed],
})

/** Formats a duration of the Gateway API (GEP-2257), which allows at most five digits per unit. */
export function durationText(ms: number): string {
  const parts = [
    [Math.floor(ms / 3_600_000), 'h'],
    [Math.floor(ms / 1000) % 3600, 's'],
    [ms % 1000, 'ms'],
  ].filter(([count]) => count !== 0)
  return parts.length === 0 ? '0s' : parts.map(([count, unit]) => `${count}${unit}`).join('')
}
