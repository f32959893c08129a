// What ext_proc must know of one route: the OAuth documents it serves there.

import type { JsonObject } from './json.js'
import type { RemoteTarget } from './remote-target.js'

export type ProcEntry = WellKnownEntry

/** Serves the metadata documents and client registration of one MCP route. */
export interface WellKnownEntry {
  readonly type: 'well-known'
  /** routeKey() of names.ts: what Envoy sends as x-gatehouse-route. */
  readonly key: string
  /** NAMESPACE/NAME of the HTTPRoute. */
  readonly route: string
  readonly paths: McpPaths
  /** RFC 9728 document but for resource (when not configured) and authorization_servers, which are computed. */
  readonly resourceMetadata: JsonObject
  readonly serverMetadata: ServerMetadata
  readonly registration: Registration
}

/** Where the MCP endpoint and its documents are (decisions 9 and 12b). */
export interface McpPaths {
  /** Path of the MCP endpoint, e.g. "/mcp"; "" for the root. The suffix of the well-known paths. */
  readonly mcpPath: string
  /** Origin of resourceMetadata.resource, e.g. "https://gw.example"; absent: the request's scheme and authority. */
  readonly origin?: string
}

export interface ServerMetadata {
  readonly metadataIssuer: 'Provider' | 'Gateway'
  /** clientId is set: client_id_metadata_document_supported is dropped (decision 10). */
  readonly clientIdConfigured: boolean
  /** The identity provider's discovery document as fetched; absent: never fetched, 503. */
  readonly discovery?: JsonObject
}

export type Registration =
  | { readonly type: 'answer'; readonly clientId: string }
  | { readonly type: 'proxy'; readonly target: RemoteTarget }
  /** 501 with this error_description. */
  | { readonly type: 'refuse'; readonly description: string }
