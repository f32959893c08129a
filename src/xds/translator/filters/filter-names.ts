// Names of the HTTP filters of every listener. Envoy silently accepts a wrong name in typed_per_filter_config, which
// would leave the route without its filter; so they are defined only here, and verify-xds.ts checks them.

/** Refuses requests for more than one host. */
export const ONE_HOST_FILTER = 'gatehouse.one_host'
/** Adds CORS headers. */
export const CORS_FILTER = 'envoy.filters.http.cors'
/** Asks ext_authz before a request passes. */
export const EXT_AUTHZ_FILTER = 'envoy.filters.http.ext_authz'
/** Asks ext_authz about the headers alone, on routes whose check needs the body too. */
export const HEAD_FILTER = 'gatehouse.head'
/** ext_proc that holds bodies until they are whole, on routes whose check needs them. */
export const BODY_FILTER = 'gatehouse.body'
/** ext_authz for routes that are only audited. */
export const AUDIT_FILTER = 'gatehouse.audit'
/** ext_proc for copies of traffic, whose answers Envoy ignores. */
export const GUARD_AUDIT_FILTER = 'gatehouse.guard_audit'
/** Applies traffic.rateLimit. */
export const LOCAL_RATE_LIMIT_FILTER = 'envoy.filters.http.local_ratelimit'
/** Counts what traffic.rateLimit of policies of mode Audit would limit. */
export const LIMIT_AUDIT_FILTER = 'gatehouse.limit_audit'
/** Guards and answers requests through ext_proc. */
export const EXT_PROC_FILTER = 'envoy.filters.http.ext_proc'
/** Sends requests to their backends; always the last filter. */
export const ROUTER_FILTER = 'envoy.filters.http.router'

/** The network filter that holds the HTTP filters. */
export const CONNECTION_MANAGER_FILTER = 'envoy.filters.network.http_connection_manager'
