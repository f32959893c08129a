// Types for the export of an HTTPRoute to a mesh, so that the mesh's Envoys ask Gatehouse about its requests.

import type { Cors, PathMatch } from './route.js'
import type { GatewayName } from './status.js'

/** Another control plane whose Gateways and HTTPRoutes Gatehouse protects. */
export type Mesh = 'envoy-gateway' | 'istio'

/** Namespace and name of a ProxyPolicy. */
export interface PolicyName {
  readonly namespace: string
  readonly name: string
}

/** An HTTPRoute of a mesh with a ProxyPolicy: the input of an export. */
export interface MeshRoute {
  readonly namespace: string
  readonly name: string
  /** FILE:LINE, or "kubernetes". */
  readonly source: string
  /** The ProxyPolicies on it. */
  readonly policies: readonly PolicyName[]
  /** As written. */
  readonly parents: readonly MeshParent[]
  readonly hostnames: readonly string[]
  /** As written, as far as Gatehouse reads them. */
  readonly rules: readonly MeshRule[]
  /** The Gateways that accept it, sorted. */
  readonly gateways: readonly GatewayName[]
  /** Absent: ext_authz is not asked. */
  readonly authz?: MeshAuthz
  /** Whether ext_proc sees the bodies of its requests and replies. */
  readonly isGuarded: boolean
  /** If present, a separate route serves the OAuth documents. */
  readonly documents?: MeshDocuments
  /** Whether its replies have no time limit. */
  readonly isEndless: boolean
  /** Maximum duration of a request in milliseconds: the shortest backend.http.requestTimeout of its backends. */
  readonly requestMs?: number
  /** CORS to configure; absent: the route has its own, or pages of other origins may read nothing. */
  readonly cors?: Cors
  /** Reasons why it cannot be exported; empty: it can. */
  readonly problems: readonly string[]
  /** Set if it has problems and policies that are not of mode Audit alone: it must not be served without them. */
  readonly isRefused?: true
  /** The data for a sealed version of it. */
  readonly sealing: MeshSealing
}

/** The data to seal an HTTPRoute. */
export interface MeshSealing {
  /** The namespace's secret; absent: none yet. Never logged or dumped. */
  readonly secret?: string
  readonly labels: Readonly<Record<string, string>>
  /** Reasons why it cannot be sealed; empty: it can. */
  readonly problems: readonly string[]
}

/** A rule of an HTTPRoute. */
export interface MeshRule {
  readonly name?: string
  readonly matches: readonly { readonly headers: readonly object[] }[]
  readonly filters: readonly {
    readonly type: string
    readonly requestHeaderModifier?: MeshHeaders
  }[]
  readonly backendRefs: readonly object[]
  /** Milliseconds. */
  readonly timeouts: { readonly request?: number; readonly backendRequest?: number }
  readonly retry?: MeshRetry
}

/** HTTPRouteRetry of the Gateway API. */
export interface MeshRetry {
  readonly codes: readonly number[]
  readonly attempts?: number
  /** Milliseconds. */
  readonly backoff?: number
}

/** HTTPHeaderFilter of the Gateway API. */
export interface MeshHeaders {
  readonly set: readonly object[]
  readonly add: readonly object[]
  readonly remove: readonly string[]
}

/** A parentRef of an HTTPRoute. */
export interface MeshParent {
  readonly group: string
  readonly kind: string
  readonly namespace?: string
  readonly name: string
  readonly sectionName?: string
  readonly port?: number
}

/** Whether a parentRef names a ListenerSet, also one of the experimental kind (XListenerSet). */
export const isListenerSet = ({ kind }: Pick<MeshParent, 'kind'>): boolean =>
  kind === 'ListenerSet' || kind === 'XListenerSet'

/** Settings for the checks of an HTTPRoute by ext_authz. */
export interface MeshAuthz {
  /** Key of any entry of its rules, as they are equal. */
  readonly key: string
  /** Paths of its rules. */
  readonly paths: readonly PathMatch[]
  /** Set if only policies of mode Audit want the checks: the route is served without them. */
  readonly isAudited?: true
  /** Largest body that is sent with a check; absent: no body is sent. */
  readonly bodyBytes?: number
  /** As in a Route. */
  readonly isBodyAudited?: true
  /** Whether ext_proc sees the MCP server's answers, to remove from lists what the rules deny. */
  readonly filtersLists: boolean
}

/** The paths of one MCP endpoint that ext_proc answers. */
export interface MeshDocuments {
  /** Name of the HTTPRoute to create for them: documentsRoute() of names.ts. */
  readonly route: string
  /** Path prefixes, served with CORS. */
  readonly documents: readonly string[]
  readonly cors: Cors
  /** Exact paths of a relay's pages, served without CORS. */
  readonly pages: readonly string[]
}

/** Returns the paths of each rule of the documents' HTTPRoute, in the order of the rules. */
export const pathsByRule = ({
  documents,
  pages,
}: Pick<MeshDocuments, 'documents' | 'pages'>): readonly (readonly string[])[] =>
  [documents, pages].filter(({ length }) => length > 0)
