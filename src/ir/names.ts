// Every name and key that two parts of Gatehouse must agree on is a function or a constant here.

/** Call metadata (ext_proc) that carries the table key. */
export const ROUTE_METADATA_KEY = 'x-gatehouse-route'
/** Call metadata (ext_proc) that carries the client's IP address, on routes that ext_proc answers. */
export const CLIENT_METADATA_KEY = 'x-gatehouse-client'
/** context_extensions (ext_authz) that carries the table key. */
export const ROUTE_CONTEXT_KEY = 'gatehouse.route'
/** Namespace of the dynamic metadata that holds the verified claims (decision 6). */
export const CLAIMS_NAMESPACE = 'envoy.filters.http.ext_authz'
/** The key of the verified claims below CLAIMS_NAMESPACE. */
export const CLAIMS_KEY = 'jwt'
/** The claims as JSON text, beside CLAIMS_KEY where they have whole numbers beyond 2^53: metadata has doubles alone. */
export const EXACT_CLAIMS_KEY = 'jwt_json'
/** The reason of a refusal below CLAIMS_NAMESPACE, for access logs: a word of ours. */
export const REASON_KEY = 'reason'

/** The keys of a request's limits below CLAIMS_NAMESPACE, hashed, by limitName(). */
export const LIMIT_KEYS_KEY = 'limits'
/** index: of a limit in its policy. */
export const limitName = (index: number): string => `limit-${index}`

/** What ext_proc must know of a request for a list (ListRequest, as JSON text), in the same namespace. */
export const LIST_REQUEST_KEY = 'mcp_lists'

/** The cluster in the bootstrap by which ADS reaches Gatehouse. */
export const XDS_CLUSTER = 'gatehouse_xds'
/** The cluster in the bootstrap by which ext_authz reaches Gatehouse. */
export const EXT_AUTHZ_CLUSTER = 'gatehouse_ext_authz'
/** The cluster in the bootstrap by which ext_proc reaches Gatehouse. */
export const EXT_PROC_CLUSTER = 'gatehouse_ext_proc'
/** A cluster without endpoints: what a route points at that ext_proc answers. */
export const ANSWERED_CLUSTER = 'gatehouse_answered'
/** A cluster without endpoints: the share of traffic whose backendRef does not resolve. */
export const UNRESOLVED_CLUSTER = 'gatehouse_unresolved'

/** Name of the Envoy listener of one port of a Gateway. */
export const listenerName = (namespace: string, gateway: string, port: number): string =>
  `${namespace}/${gateway}/${port}`

/** listener: absent for HTTP, where all listeners of a port share one route configuration. */
export const routeConfigName = (
  namespace: string,
  gateway: string,
  port: number,
  listener?: string,
): string => `${namespace}/${gateway}/${port}${listener === undefined ? '' : `/${listener}`}`

/** domain: the most specific one. */
export const virtualHostName = (routeConfig: string, domain: string): string =>
  `${routeConfig}/${domain}`

/**
 * The table key of one rule of an HTTPRoute, for ext_authz and ext_proc alike. scope: the Gateway, or the listener of it,
 * that changes what the route's own policies say; no name has an "@".
 */
export const routeKey = (
  namespace: string,
  httpRoute: string,
  rule: number,
  scope?: string,
): string => `${namespace}/${httpRoute}/${rule}${scope === undefined ? '' : `@${scope}`}`

/** Headers by which a sealed route of a mesh leads to its backends: of ext_authz, and of ext_proc that guards. */
export const SEAL_HEADERS = { authz: 'x-gatehouse-passed', guard: 'x-gatehouse-seen' } as const
/** The Secret of a namespace whose routes are sealed, and the member that holds what those headers say. */
export const SEAL_SECRET = { name: 'gatehouse-seal', key: 'seal' } as const

/** The HTTPRoute that serves the OAuth documents of another one in a mesh. */
export const documentsRoute = (httpRoute: string): string => `gatehouse-documents-${httpRoute}`

/** Of the entry that filters lists, beside the one of the rule's documents. */
export const listsKey = (key: string): string => `${key}/lists`

/** Name of an Envoy route: one match of one rule of an HTTPRoute. suffix: tells routes of one match apart. */
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

/** Name of the Destination of a ProxyBackend. */
export const backendDestination = (namespace: string, backend: string): string =>
  `backend/${namespace}/${backend}`

/** Name of the Certificate of a Secret, and of Envoy's Secret (SDS). */
export const certificateName = (namespace: string, secret: string): string =>
  `${namespace}/${secret}`

/** How the names of a relay's cookies begin; on https behind "__Host-". */
export const RELAY_COOKIE = 'gatehouse-'
