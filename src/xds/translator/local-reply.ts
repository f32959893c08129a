// The share of a route's traffic whose backendRef does not resolve gets 500, as the Gateway API wants. A weighted
// cluster can only fail with 503, so requests to it carry a mark and Envoy's own reply to those is mapped.

import type { JsonObject } from '../../ir/json.js'

/** Clients cannot send it: every header of this prefix is removed first (early-headers.ts). */
export const UNRESOLVED_HEADER = 'x-gatehouse-unresolved'

/** envoy.config.core.v3.HeaderValueOption */
export const UNRESOLVED_MARK: JsonObject = {
  header: { key: UNRESOLVED_HEADER, value: '1' },
  append_action: 'OVERWRITE_IF_EXISTS_OR_ADD',
}

/** envoy.extensions.filters.network.http_connection_manager.v3.LocalReplyConfig */
export const LOCAL_REPLY_CONFIG: JsonObject = {
  mappers: [
    {
      filter: { header_filter: { header: { name: UNRESOLVED_HEADER, present_match: true } } },
      status_code: 500,
      body: { inline_string: 'the backend of this route does not exist\n' },
    },
  ],
}
