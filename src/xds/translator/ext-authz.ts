// The ext_authz filter, which asks Gatehouse about every request, and what a route says to it.

import type { JsonObject } from '../../ir/json.js'
import { EXT_AUTHZ_CLUSTER, ROUTE_CONTEXT_KEY } from '../../ir/names.js'
import type { Route } from '../../ir/route.js'
import { EXT_AUTHZ_FILTER } from './filter-names.js'
import { any, durationJson } from './json-object.js'

/** Above the 500 ms that a check may wait for a key set's extra fetch (decision 2). */
const CHECK_TIMEOUT_MS = 2_000

/** A check asks and changes nothing: where its replica is gone, another one answers, within the same time. */
const RETRIES: JsonObject = {
  num_retries: 2,
  retry_on: 'connect-failure,refused-stream,reset,unavailable',
}

/**
 * Envoy reads pack_as_bytes here alone, and with it a body that is not UTF-8 arrives as it is. The size is that of a
 * route which says nothing about bodies: none of ours does, so it need not be of any use.
 */
const BODY_AS_BYTES: JsonObject = { max_request_bytes: 1, pack_as_bytes: true }

const PER_ROUTE = 'envoy.extensions.filters.http.ext_authz.v3.ExtAuthzPerRoute'

/**
 * Enabled for every route that does not switch it off, and closed when the server is away.
 * Every header is sent: connections keep the listener that they began with, and a list of those that rules read would
 * hide from a new rule what it reads, for as long as they live.
 * encode_raw_headers: repeated headers arrive as they came, not joined; bytes that are not UTF-8 are not replaced.
 */
export const buildExtAuthzFilter = (): JsonObject => ({
  name: EXT_AUTHZ_FILTER,
  typed_config: any('envoy.extensions.filters.http.ext_authz.v3.ExtAuthz', {
    transport_api_version: 'V3',
    grpc_service: {
      envoy_grpc: { cluster_name: EXT_AUTHZ_CLUSTER },
      timeout: durationJson(CHECK_TIMEOUT_MS),
      retry_policy: RETRIES,
    },
    failure_mode_allow: false,
    status_on_error: { code: 'ServiceUnavailable' },
    encode_raw_headers: true,
    with_request_body: BODY_AS_BYTES,
    // The route must not be chosen anew after the check: the new one may never have been authorized.
    clear_route_cache: false,
    validate_mutations: true,
    stat_prefix: 'gatehouse',
  }),
})

/** authz: key of the AuthzEntry; absent: the route is public, said explicitly. */
export const buildExtAuthzPerRoute = ({
  authz,
  authzBodyBytes,
}: Pick<Route, 'authz' | 'authzBodyBytes'>): JsonObject =>
  authz === undefined
    ? any(PER_ROUTE, { disabled: true })
    : any(PER_ROUTE, {
        check_settings: {
          context_extensions: { [ROUTE_CONTEXT_KEY]: authz },
          ...bodySettings(authzBodyBytes),
        },
      })

/** A body that is larger is answered 413: allow_partial_message stays off. */
const bodySettings = (maxBytes: number | undefined): JsonObject =>
  maxBytes === undefined
    ? { disable_request_body_buffering: true }
    : { with_request_body: { max_request_bytes: maxBytes, pack_as_bytes: true } }
