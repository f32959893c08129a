// Names of request headers that only Gatehouse or Envoy may set; a client's are removed from every request.

/** Prefix of Gatehouse's own header names. */
export const RESERVED_PREFIX = 'x-gatehouse-'

/** Envoy's own headers to ext_authz servers and backends, worth forging (CVE-2023-27487 for the path). */
export const RESERVED_HEADERS: readonly string[] = [
  'x-envoy-auth-partial-body',
  'x-envoy-original-host',
  'x-envoy-original-path',
]
