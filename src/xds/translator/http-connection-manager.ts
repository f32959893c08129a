// A filter chain → Envoy's HTTP connection manager: how requests are read and cleaned, and which filters they pass.

import type { FilterChain } from '../../ir/ir.js'
import type { JsonObject } from '../../ir/json.js'
import { buildAccessLog } from './access-log.js'
import { buildCorsFilter } from './cors.js'
import { buildEarlyHeaderMutation } from './early-headers.js'
import { buildExtAuthzFilter } from './ext-authz.js'
import { buildExtProcFilter } from './ext-proc.js'
import { CONNECTION_MANAGER_FILTER, ROUTER_FILTER } from './filter-names.js'
import { ADS_SOURCE, any, durationJson } from './json-object.js'
import { LOCAL_REPLY_CONFIG } from './local-reply.js'
import type { XdsOptions } from './xds-resources.js'

/** A request that is idle this long is ended, unless its route says otherwise (decision 13b). */
const STREAM_IDLE_MS = 300_000
/** How long a client may take to send its headers. */
const REQUEST_HEADERS_MS = 30_000

const buildRouter = (): JsonObject => ({
  name: ROUTER_FILTER,
  typed_config: any('envoy.extensions.filters.http.router.v3.Router', {
    suppress_envoy_headers: true,
  }),
})

/**
 * cors first: it answers preflights before authentication and adds its headers to the other filters' own replies.
 * ext_authz before ext_proc: only authorized requests cost a body, and the claims are there.
 */
const httpFilters = (): readonly JsonObject[] => [
  buildCorsFilter(),
  buildExtAuthzFilter(),
  buildExtProcFilter(),
  buildRouter(),
]

/** Paths are made unambiguous before any route or filter reads them (decision 8). */
const PATH_FIELDS: JsonObject = {
  normalize_path: true,
  merge_slashes: true,
  path_with_escaped_slashes_action: 'REJECT_REQUEST',
}

/**
 * A private address must not be trusted with x-envoy-* headers (CVE-2024-45806). No range at all would mean
 * Envoy's default, every private one; nothing can connect from the broadcast address.
 */
const NOBODY_IS_INTERNAL: JsonObject = {
  cidr_ranges: [{ address_prefix: '255.255.255.255', prefix_len: 32 }],
}

/**
 * An HTTP/2 client says itself what its scheme is, and Envoy believes it: here it is that of the connection. Behind
 * trusted proxies X-Forwarded-Proto says it, which Envoy would overwrite as well.
 */
const schemeFields = (chain: FilterChain, { trustedHops }: XdsOptions): JsonObject =>
  trustedHops > 0
    ? {}
    : {
        scheme_header_transformation: {
          scheme_to_overwrite: chain.tls === undefined ? 'http' : 'https',
        },
      }

/** envoy.config.listener.v3.Filter */
export const buildHttpConnectionManager = (
  chain: FilterChain,
  options: XdsOptions,
): JsonObject => ({
  name: CONNECTION_MANAGER_FILTER,
  typed_config: any(
    'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
    {
      stat_prefix: chain.name,
      rds: { route_config_name: chain.name, config_source: ADS_SOURCE },
      http_filters: httpFilters(),
      ...PATH_FIELDS,
      // admin.example. is admin.example: for routes, for rules (decision 4a) and for backends.
      strip_trailing_host_dot: true,
      use_remote_address: true,
      xff_num_trusted_hops: options.trustedHops,
      ...schemeFields(chain, options),
      internal_address_config: NOBODY_IS_INTERNAL,
      early_header_mutation_extensions: [buildEarlyHeaderMutation()],
      local_reply_config: LOCAL_REPLY_CONFIG,
      common_http_protocol_options: { headers_with_underscores_action: 'REJECT_REQUEST' },
      http2_protocol_options: { max_concurrent_streams: 100 },
      // Off unless a route switches it on; Envoy needs the type to be known here for that.
      upgrade_configs: [{ upgrade_type: 'websocket', enabled: false }],
      stream_idle_timeout: durationJson(STREAM_IDLE_MS),
      request_headers_timeout: durationJson(REQUEST_HEADERS_MS),
      server_header_transformation: 'PASS_THROUGH',
      access_log: options.accessLog ? [buildAccessLog()] : undefined,
    },
  ),
})
