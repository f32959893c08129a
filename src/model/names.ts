// Defines every name and key that two parts of Gatehouse must agree on.

import { hash } from 'node:crypto'

/** Call metadata (ext_proc) that carries the table key. */
export const ROUTE_METADATA_KEY = 'x-gatehouse-route'
/** Call metadata (ext_proc) that carries the client's IP address, on routes that ext_proc answers. */
export const CLIENT_METADATA_KEY = 'x-gatehouse-client'
/** Call metadata that carries the token by which Gatehouse knows an Envoy that it created. */
export const ENVOY_TOKEN_HEADER = 'x-gatehouse-token'
/** context_extensions (ext_authz) that carries the table key. */
export const ROUTE_CONTEXT_KEY = 'gatehouse.route'
/** context_extensions that are set if only the headers are to be checked, before Envoy holds the body. */
export const HEAD_CONTEXT_KEY = 'gatehouse.head'
/** Header in which Envoy tells ext_authz that a body is truncated. */
export const PARTIAL_BODY_HEADER = 'x-envoy-auth-partial-body'
/** Namespace of the dynamic metadata that holds the verified claims (decision 6). */
export const CLAIMS_NAMESPACE = 'envoy.filters.http.ext_authz'
/** Key of the verified claims below CLAIMS_NAMESPACE. */
export const CLAIMS_KEY = 'jwt'
/** Key of the claims as JSON text, set if they have whole numbers beyond 2^53: metadata only has doubles. */
export const EXACT_CLAIMS_KEY = 'jwt_json'
/** Key of a denial's reason below CLAIMS_NAMESPACE, for access logs: a fixed word. */
export const REASON_KEY = 'reason'
/** Key of the reason for which policies of mode Audit would have denied a request, below CLAIMS_NAMESPACE. */
export const AUDIT_REASON_KEY = 'audit_reason'

/** Key of a request's rate limit keys below CLAIMS_NAMESPACE: hashed, by limitName(). */
export const LIMIT_KEYS_KEY = 'limits'
/** index: position of the limit in its policy. */
export const limitName = (index: number): string => `limit-${index}`

/** Key of the data about a request for a list (ListRequest as JSON text) for ext_proc, in the same namespace. */
export const LIST_REQUEST_KEY = 'mcp_lists'

/** Key of the sealed session that a client has named, for ext_proc, in the same namespace. */
export const SESSION_KEY = 'mcp_session'

/** The cluster in the bootstrap by which ADS reaches Gatehouse. */
export const XDS_CLUSTER = 'gatehouse_xds'
/** The cluster in the bootstrap by which ext_authz reaches Gatehouse. */
export const EXT_AUTHZ_CLUSTER = 'gatehouse_ext_authz'
/** The cluster in the bootstrap by which ext_proc reaches Gatehouse. */
export const EXT_PROC_CLUSTER = 'gatehouse_ext_proc'
/** The cluster of the collector that Envoy sends its spans to. */
export const OTLP_CLUSTER = 'gatehouse_otlp'
/** A cluster without endpoints, for routes that ext_proc answers. */
export const ANSWERED_CLUSTER = 'gatehouse_answered'
/** A cluster without endpoints, for the share of traffic whose backendRef does not resolve. */
export const UNRESOLVED_CLUSTER = 'gatehouse_unresolved'

/** Name of the Envoy listener of one port of a Gateway. */
export const listenerName = (namespace: string, gateway: string, port: number): string =>
  `${namespace}/${gateway}/${port}`

/** Name of a route configuration. listener: absent for HTTP, where all listeners of a port share one. */
export const routeConfigName = (
  namespace: string,
  gateway: string,
  port: number,
  listener?: string,
): string => `${namespace}/${gateway}/${port}${listener === undefined ? '' : `/${listener}`}`

/** Name of a virtual host. domain: its most specific one. */
export const virtualHostName = (routeConfig: string, domain: string): string =>
  `${routeConfig}/${domain}`

/**
 * The table key of one rule of an HTTPRoute, for both ext_authz and ext_proc. scope: the Gateway or listener that
 * changes what the route's own policies say. Names cannot contain an "@".
 */
export const routeKey = (
  namespace: string,
  httpRoute: string,
  rule: number,
  scope?: string,
): string => `${namespace}/${httpRoute}/${rule}${scope === undefined ? '' : `@${scope}`}`

/** Returns the namespace of a resource. key: NAMESPACE/NAME. */
export const namespaceIn = (key: string): string => key.slice(0, key.indexOf('/'))

/** The key of an HTTPRoute of a mesh that must be refused as a whole: no table has it. */
export const refusedKey = (namespace: string, httpRoute: string): string =>
  `${namespace}/${httpRoute}/refused`

/** Request header of a probe, by which the controller of a mesh finds out whether a route is protected. */
export const PROBE_HEADER = 'gatehouse-probe'
/** Response header with the proofs of the servers that were asked about a probe. */
export const PROBED_HEADER = 'gatehouse-probed'
/** Header of the answers at the closed address, where no backend is. */
export const CLOSED_HEADER = 'x-gatehouse-closed'

/** Headers that a sealed route of a mesh requires to reach its backends: set by ext_authz, and by ext_proc as guard. */
export const SEAL_HEADERS = { authz: 'x-gatehouse-passed', guard: 'x-gatehouse-seen' } as const
/** The Secret of a namespace with sealed routes, and its member with the value of those headers. */
export const SEAL_SECRET = { name: 'gatehouse-seal', key: 'seal' } as const

/** Longest name of a Kubernetes object. */
const LONGEST_NAME = 253

/**
 * Name of an object that Gatehouse creates for another one: a prefix with the other's name, or with a hash of it if that
 * would be too long.
 */
export function nameAfter(prefix: string, name: string): string {
  const whole = `${prefix}${name}`
  return whole.length <= LONGEST_NAME ? whole : `${prefix}${hash('sha256', name)}.long`
}

/** Name of the HTTPRoute that serves the OAuth documents of another one in a mesh. */
export const documentsRoute = (httpRoute: string): string =>
  nameAfter('gatehouse-documents-', httpRoute)

/** Key of the entry that filters lists, separate from that of the rule's documents. */
export const listsKey = (key: string): string => `${key}/lists`

/** Key of the entry that seals sessions, where nothing else is done with replies. */
export const sessionsKey = (key: string): string => `${key}/sessions`

/** Key of the entry that holds bodies until they are whole. */
export const uncheckedBodyKey = (key: string): string => `${key}/body`

/** Key of the entry that guards MCP traffic, separate from that of the rule's documents. */
export const mcpGuardKey = (key: string): string => `${key}/mcp-guard`

/** Key of the entry whose webhooks are audited. */
export const guardAuditKey = (key: string): string => `${key}/guard-audit`

/** Name of an Envoy route: one match of one rule of an HTTPRoute. suffix: distinguishes routes of one match. */
export const routeName = (
  namespace: string,
  httpRoute: string,
  rule: number,
  match: number,
  suffix?: string,
): string => `${namespace}/${httpRoute}/${rule}/${match}${suffix === undefined ? '' : `/${suffix}`}`

/** Name of the Destination of a Service's port. */
export const serviceDestination = (namespace: string, service: string, port: number): string =>
  `service/${namespace}/${service}/${port}`

/** Returns NAMESPACE/NAME of the Service of a Destination; undefined: it is another backend's. */
export const serviceOfDestination = (destination: string): string | undefined =>
  /^service\/([^/]+\/[^/]+)\//.exec(destination)?.[1]

/** Name of the Destination of a ProxyBackend. */
export const backendDestination = (namespace: string, backend: string): string =>
  `backend/${namespace}/${backend}`

/** Name of a Destination whose Gateway presents a client certificate to it. gateway: NAMESPACE/NAME. */
export const presentedDestination = (destination: string, gateway: string): string =>
  `${destination}@${gateway}`

/** Name of the Certificate of a Secret, and of Envoy's Secret (SDS). */
export const certificateName = (namespace: string, secret: string): string =>
  `${namespace}/${secret}`

/** Prefix of the names of a relay's cookies; on https after "__Host-". */
export const RELAY_COOKIE = 'gatehouse-'

/** Key of checks that decide nothing and remove the cookies of relays; no routeKey(), which has slashes. */
export const RELAY_COOKIES_KEY = 'relay-cookies'

/** The answer to an upgrade, such as one to WebSocket, on a route that accepts none. */
export const UPGRADE_REFUSED = {
  status: 426,
  body: 'this route serves no WebSocket and no other upgrade; send the request over HTTP, without the header Upgrade\n',
} as const
