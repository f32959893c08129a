// What a mesh's own configuration must say of one HTTPRoute, so that the mesh's Envoys ask Gatehouse about its requests.

import type { Cors } from './route.js'
import type { GatewayName } from './status.js'

/** A control plane of others whose Gateways and HTTPRoutes Gatehouse protects. */
export type Mesh = 'envoy-gateway'

/** An HTTPRoute of a mesh with a policy of ours: what an export is made of. */
export interface MeshRoute {
  readonly namespace: string
  readonly name: string
  /** FILE:LINE, or "kubernetes". */
  readonly source: string
  /** NAMESPACE/NAME of each ProxyPolicy on it. */
  readonly policies: readonly string[]
  /** As written. */
  readonly parents: readonly MeshParent[]
  readonly hostnames: readonly string[]
  /** The Gateways that take it; sorted. */
  readonly gateways: readonly GatewayName[]
  /** Present: ext_authz is asked. */
  readonly authz?: MeshAuthz
  /** ext_proc sees the bodies of its requests and replies. */
  readonly isGuarded: boolean
  /** Present: a route beside it serves the OAuth documents. */
  readonly documents?: MeshDocuments
  /** Its replies may take as long as they like. */
  readonly isEndless: boolean
  /** Milliseconds that a request may take: the shortest backend.http.requestTimeout of its Services. */
  readonly requestMs?: number
  /** What pages of other origins may read; absent: the mesh says it, or nothing is. */
  readonly cors?: Cors
  /** Why it cannot be exported; empty: it can. */
  readonly problems: readonly string[]
  /** What a sealed version of it is made of. */
  readonly sealing: MeshSealing
}

/** An HTTPRoute as it is written, as far as it is read, and what is needed to seal it. */
export interface MeshSealing {
  /** The secret of the namespace. Never logged or dumped. Absent: there is none yet. */
  readonly secret?: string
  readonly labels: Readonly<Record<string, string>>
  readonly rules: readonly MeshRule[]
  /** Why it cannot be sealed; empty: it can. */
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

/** How ext_authz is asked about an HTTPRoute. */
export interface MeshAuthz {
  /** Of an entry of its rules, which differ in nothing. */
  readonly key: string
  /** The largest body that is sent with a check; absent: none is. */
  readonly bodyBytes?: number
  /** Answers of the MCP server are shown to ext_proc, which takes out of lists what the rules refuse. */
  readonly filtersLists: boolean
}

/** The paths of one MCP endpoint that ext_proc answers. */
export interface MeshDocuments {
  /** Name of the HTTPRoute that is to be made for them: documentsRoute() of names.ts. */
  readonly route: string
  /** Path prefixes, served with CORS. */
  readonly documents: readonly string[]
  readonly cors: Cors
  /** Exact paths of a relay's pages, served without CORS. */
  readonly pages: readonly string[]
}
