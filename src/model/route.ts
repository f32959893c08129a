// Types for an Envoy route: one match of one rule of an HTTPRoute on one virtual host.

import type { PolicyField } from './policy-source.js'

/** One match of one HTTPRoute rule (envoy.config.route.v3.Route). */
export interface Route {
  /** From names.ts; unique within its virtual host. */
  readonly name: string
  readonly match: RouteMatch
  readonly action: RouteAction
  /** Key of an AuthzEntry. Absent: ext_authz is explicitly disabled for this route. */
  readonly authz?: string
  /** Set if only policies of mode Audit want ext_authz: nothing is refused, also if ext_authz does not answer. */
  readonly isAudited?: true
  /** Maximum bytes of the body, which ext_authz gets whole; larger ones get 413. Absent: checks wait for no body. */
  readonly authzBodyBytes?: number
  /** Set if the token is checked before Envoy holds the body, so that nobody else can make it hold any. */
  readonly checksHead?: true
  /** Key of an UncheckedBodyEntry, which holds the body until it is whole. Absent: Envoy does, or nobody. */
  readonly uncheckedBody?: string
  /** Set if only policies of mode Audit read the body: ext_authz gets the beginning of a larger one, and it passes. */
  readonly isBodyAudited?: true
  /** Set if ext_authz, which decides nothing here, removes the cookies of relays from requests. */
  readonly removesRelayCookies?: true
  /** Key of a ProcEntry. Absent: no ext_proc stream is opened. */
  readonly proc?: ProcAttachment
  /** Key of a GuardAuditEntry or McpGuardAuditEntry, whose webhooks get copies. Absent: no webhook is audited. */
  readonly procAudit?: string
  /** On a redirect the match admits allowed origins alone, and the answer gets the headers for them. */
  readonly cors?: Cors
  /** Rate limits, all of which must allow a request. Absent: no limit. */
  readonly limits?: Limits
  /** Rate limits of policies of mode Audit, which are counted and limit nothing; none is keyed. */
  readonly limitsAudit?: Limits
  readonly requestHeaders?: HeaderModifier
  readonly responseHeaders?: HeaderModifier
  /** Where limits and header changes come from, for explanations. Absent: no policy has any. */
  readonly policyFields?: readonly PolicyField[]
}

/** Limits that each Envoy counts by itself (envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit). */
export interface Limits {
  /** In the order of the policy: ext_authz identifies their keys by index. */
  readonly local: readonly LocalLimit[]
  /** Maximum number of buckets of a keyed limit. */
  readonly maxBuckets: number
}

/** A token bucket, or one for each key. */
export interface LocalLimit {
  readonly requests: number
  readonly perMs: number
  readonly burst: number
  /** Whether ext_authz provides a key for each request; requests without a key share one bucket. */
  readonly isKeyed: boolean
}

/** ext_proc on a route (envoy.extensions.filters.http.ext_proc.v3.ExtProcOverrides). */
export interface ProcAttachment {
  readonly key: string
  /**
   * well-known: headers and the buffered request body. guard: both bodies, full duplex. lists: the answer's body. sessions:
   * the answer's headers.
   */
  readonly mode: 'well-known' | 'guard' | 'lists' | 'sessions'
}

/** HTTPPathMatch of the Gateway API. */
export type PathMatch =
  | { readonly type: 'Exact'; readonly value: string }
  /** By path segments: /mcp matches /mcp and /mcp/x, never /mcpfoo. No trailing slash, except for "/". */
  | { readonly type: 'PathPrefix'; readonly value: string }
  /** RE2, of bounded size; must match the whole path. */
  | { readonly type: 'RegularExpression'; readonly value: string }

/** HTTPRouteMatch of the Gateway API: every part must match. */
export interface RouteMatch {
  readonly path: PathMatch
  readonly method?: string
  readonly headers: readonly ValueMatch[]
  readonly queryParams: readonly ValueMatch[]
}

/** HTTPHeaderMatch or HTTPQueryParamMatch of the Gateway API. */
export interface ValueMatch {
  readonly name: string
  /** Contains: never from an HTTPRoute. */
  readonly type: 'Exact' | 'RegularExpression' | 'Contains'
  readonly value: string
}

/** What happens to a request that a route matches. */
export type RouteAction =
  ForwardAction | RedirectAction | RefuseAction | AnsweredAction | MisdirectedAction

/** Sends the request to backends (HTTPRoute rules[].backendRefs; envoy.config.route.v3.RouteAction). */
export interface ForwardAction {
  readonly type: 'forward'
  /** At least one; weights sum above 0. */
  readonly destinations: readonly WeightedDestination[]
  /** Backends that get copies of requests; their answers are dropped. Absent: none. */
  readonly mirrors?: readonly Mirror[]
  readonly rewrite?: UrlRewrite
  readonly timeouts: Timeouts
  /** Absent: a request has a single try. */
  readonly retry?: Retry
  /** Whether to replace the backend's access-control-* headers (routes with mcp, decision 13a). */
  readonly replaceBackendCors: boolean
  /** Whether upgrades (CONNECT, websocket) are allowed; never on protected and guarded routes. */
  readonly allowUpgrades: boolean
}

/** A backendRef of an HTTPRoute rule with its share of the requests. */
export interface WeightedDestination {
  /** Name of an Ir.destinations entry; absent: this share of the traffic gets 500 (an unresolved backendRef). */
  readonly destination?: string
  readonly weight: number
  /** Host header towards this backend (decision 31); absent: the client's. */
  readonly host?: string
  readonly requestHeaders?: HeaderModifier
  readonly responseHeaders?: HeaderModifier
}

/** HTTPRequestMirrorFilter of the Gateway API (envoy.config.route.v3.RouteAction.RequestMirrorPolicy). */
export interface Mirror {
  /** Name of an Ir.destinations entry. */
  readonly destination: string
  /** Share of the requests that are copied, 1 to 1,000,000. */
  readonly perMillion: number
  /** Host header towards this backend; absent: that of the request. */
  readonly host?: string
}

/** HTTPURLRewriteFilter of the Gateway API. */
export interface UrlRewrite {
  readonly hostname?: string
  readonly path?: PathRewrite
}

/** HTTPPathModifier of the Gateway API. */
export type PathRewrite =
  | { readonly type: 'ReplaceFullPath'; readonly value: string }
  /** Replaces the matched prefix; the value has no trailing slash, "" stands for "/". */
  | { readonly type: 'ReplacePrefixMatch'; readonly value: string }

/** Milliseconds; 0: none. Absent: Envoy's default, 15 s for the request. */
export interface Timeouts {
  readonly requestMs?: number
  readonly backendRequestMs?: number
  /** Stream idle timeout; 0 on routes with mcp and guarded ones. */
  readonly idleMs?: number
}

/** HTTPRouteRetry of the Gateway API (envoy.config.route.v3.RetryPolicy). */
export interface Retry {
  /** Statuses after which a request is tried again; it always is if the connection fails. */
  readonly codes: readonly number[]
  /** Maximum number of further tries, at least 1. */
  readonly attempts: number
  /** Milliseconds before the first further try; absent: Envoy's default, 25 ms. */
  readonly backoffMs?: number
}

/** HTTPRequestRedirectFilter of the Gateway API; an absent part is taken from the request. */
export interface RedirectAction {
  readonly type: 'redirect'
  readonly scheme?: 'http' | 'https'
  readonly hostname?: string
  readonly port?: number
  readonly path?: PathRewrite
  readonly statusCode: 301 | 302 | 303 | 307 | 308
}

/** Answered by Envoy itself: the route refuses because its policy or backend is broken. Never open. */
export interface RefuseAction {
  readonly type: 'refuse'
  readonly status: 500 | 503
  readonly body: string
}

/** Answered by ext_proc. If it ever fails to answer, Envoy finds no endpoint and answers 503. */
export interface AnsweredAction {
  readonly type: 'answered'
}

/** 421: another listener of the port serves this host name, on another connection (RFC 9110 section 15.5.20). */
export interface MisdirectedAction {
  readonly type: 'misdirected'
}

/** HTTPCORSFilter of the Gateway API (envoy.extensions.filters.http.cors.v3.CorsPolicy). */
export interface Cors {
  /** As written: "*", "https://*.example.com" or an origin. */
  readonly allowOrigins: readonly string[]
  readonly allowMethods: readonly string[]
  readonly allowHeaders: readonly string[]
  readonly exposeHeaders: readonly string[]
  readonly allowCredentials: boolean
  /** Seconds. */
  readonly maxAge?: number
}

/** HTTPHeaderFilter of the Gateway API: set replaces, add appends. */
export interface HeaderModifier {
  readonly set: readonly Header[]
  readonly add: readonly Header[]
  readonly remove: readonly string[]
}

/** A header field to set or add. */
export interface Header {
  readonly name: string
  readonly value: string
}
