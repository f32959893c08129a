// What ext_authz must know of one rule of a route: who may pass. Compiled (keys, CEL) when the table is built.

import type { Authorization } from './authorization.js'
import type { JsonObject } from './json.js'
import type { PolicySource } from './policy-source.js'
import type { McpPaths } from './proc-entry.js'
import type { PathMatch } from './route.js'
import type { LimitKey, Transformation } from './transformation.js'

/** How requests of one HTTPRoute rule are authenticated and authorized: an entry of the ext_authz table. */
export interface AuthzEntry {
  /** routeKey() of names.ts: what Envoy sends back in context_extensions. */
  readonly key: string
  /** NAMESPACE/NAME of the HTTPRoute: the label of metrics and logs. */
  readonly route: string
  /** Of all protected rules of the HTTPRoute: the server checks the path again (decision 8). */
  readonly paths: readonly PathMatch[]
  /** Every request is refused: no policy decides who may use the route, and one is required. */
  readonly lacksPolicy?: true
  /** Absent: no token is asked for (a policy with authorization alone sees jwt as null). */
  readonly jwt?: JwtAuthentication
  /** Whose jwt is. */
  readonly policy?: PolicySource
  /** Absent: any caller that passed authentication. */
  readonly authorization?: Authorization
  /** Of web pages that may call; a request with another Origin is 403. Absent: Origin is not looked at. */
  readonly allowedOrigins?: readonly string[]
  /** A relay's: its own cookies are taken off requests to the backend. */
  readonly isRelay?: true
  /** Of a sealed route of a mesh: what requests that are let in are marked with. Never logged or dumped. */
  readonly seal?: string
  /** Of the limits of the route that have one; absent: none has. */
  readonly limitKeys?: readonly LimitKey[]
  /** Absent: headers stay as they are. */
  readonly transformation?: Transformation
  /** ext_proc is told of requests for lists, whose answers it filters. */
  readonly filterLists?: true
  /** Present: the 401 carries the challenge that MCP clients start their login from. */
  readonly challenge?: Challenge
}

/** Token authentication (ProxyPolicy traffic.jwtAuthentication). */
export interface JwtAuthentication {
  readonly mode: 'Strict' | 'Optional' | 'Permissive'
  readonly providers: readonly JwtProvider[]
  /** Decision 6; false: Authorization is removed before the backend sees the request. */
  readonly forwardToken: boolean
}

/** An accepted issuer of tokens (ProxyPolicy jwtAuthentication.providers[]). */
export interface JwtProvider {
  /** Compared with iss, exactly. */
  readonly issuer: string
  /** Any of them in aud; empty: aud is not checked. */
  readonly audiences: readonly string[]
  readonly keySet: KeySet
}

/** The JWKS of a provider (RFC 7517, section 5), or the fact that none was ever fetched. */
export type KeySet =
  /** jwks: the provider's document as fetched (or inline); unusable keys are skipped at compilation. */
  | { readonly state: 'available'; readonly source: KeySource; readonly jwks: JsonObject }
  | { readonly state: 'unavailable'; readonly source: KeySource }

/** Where a key set comes from (ProxyPolicy providers[].jwks). */
export type KeySource =
  | { readonly type: 'inline' }
  /** id: of the WantedDocument, for an extra fetch on an unknown kid; url: for messages. */
  | { readonly type: 'remote'; readonly id: string; readonly url: string }

/** WWW-Authenticate of a 401 from which MCP clients find the resource metadata (RFC 9728, section 5.1). */
export interface Challenge {
  readonly paths: McpPaths
  /** RFC 6750 error, error_description and scope after resource_metadata (decision 7). */
  readonly details: boolean
  readonly scopes: readonly string[]
}
