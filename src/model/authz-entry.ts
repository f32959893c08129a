// The ext_authz table entry of one rule of a route: who may pass. Keys and CEL are compiled when the table is built.

import type { Authorization } from './authorization.js'
import type { ForGateways } from './for-gateways.js'
import type { JsonObject } from './json.js'
import type { PolicySource } from './policy-source.js'
import type { McpPaths } from './proc-entry.js'
import type { PathMatch } from './route.js'
import type { SessionBinding } from './session-binding.js'
import type { LimitKey, Transformation } from './transformation.js'

/** How requests of one HTTPRoute rule are authenticated and authorized: an entry of the ext_authz table. */
export interface AuthzEntry extends ForGateways {
  /** routeKey() of names.ts, which Envoy sends back in context_extensions. */
  readonly key: string
  /** NAMESPACE/NAME of the HTTPRoute, the label in metrics and logs. */
  readonly route: string
  /** Paths of all protected rules of the HTTPRoute: the server checks the path again (decision 8). */
  readonly paths: readonly PathMatch[]
  /** Set if every request is denied, as no policy decides who may use the route although one is required. */
  readonly lacksPolicy?: true
  /** Set if every request is denied, as a policy of the route is not valid. */
  readonly isClosed?: true
  /** Set for the documents' route of a mesh: every request of its paths is allowed, and ext_proc answers it. */
  readonly servesDocuments?: true
  /** Absent: no token is required (rules of a policy without jwtAuthentication see jwt as null). */
  readonly jwt?: JwtAuthentication
  /** The policy that jwt is from; with isClosed, the first that is not valid. */
  readonly policy?: PolicySource
  /** Absent: any caller that passed authentication may pass. */
  readonly authorization?: Authorization
  /** Origins of web pages that may call; other Origins get 403. Absent: Origin is not checked. */
  readonly allowedOrigins?: readonly string[]
  /** On a sealed route of a mesh: the mark for allowed requests. Never logged or dumped. */
  readonly seal?: string
  /** Keys of the route's keyed rate limits; absent: none is keyed. */
  readonly limitKeys?: readonly LimitKey[]
  /** Absent: headers are not changed. */
  readonly transformation?: Transformation
  /** Set if ext_proc filters lists; ext_authz then informs it of requests for lists. */
  readonly filterLists?: true
  /** If present, sessions of MCP are good for their callers alone. */
  readonly session?: SessionBinding
  /** What policies of mode Audit would decide about allowed requests; absent: there are none. */
  readonly audit?: AuthzAudit
  /** Set if only policies of mode Audit concern the route: every request is allowed. */
  readonly isAudited?: true
  /** If present, a 401 carries the challenge from which MCP clients start their login. */
  readonly challenge?: Challenge
}

/** The decision of policies of mode Audit (ProxyPolicy mode), which is logged and counted and changes nothing. */
export type AuthzAudit = Pick<AuthzEntry, 'jwt' | 'policy' | 'authorization' | 'allowedOrigins'>

/** Token authentication (ProxyPolicy traffic.jwtAuthentication). */
export interface JwtAuthentication {
  readonly mode: 'Strict' | 'Optional' | 'Permissive'
  readonly providers: readonly JwtProvider[]
  /** Decision 6. If false, Authorization is removed before the backend sees the request. */
  readonly forwardToken: boolean
}

/** An accepted issuer of tokens (ProxyPolicy jwtAuthentication.providers[]). */
export interface JwtProvider {
  /** Must equal iss exactly. */
  readonly issuer: string
  /** At least one must be in aud; if empty, aud is not checked. */
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
