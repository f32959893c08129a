// Answers of Envoy's own that must carry the CORS headers, which it adds to no direct_response: requests to a cluster
// without endpoints carry a mark, and Envoy's own reply to those is mapped. Should a mark get lost, that reply is 503.

import type { JsonObject } from '../../ir/json.js'
import { UNRESOLVED_CLUSTER } from '../../ir/names.js'
import type { RefuseAction } from '../../ir/route.js'

/**
 * A weighted cluster can only fail with 503, but the share of a route's traffic whose backendRef does not resolve gets
 * 500, as the Gateway API wants. Clients cannot send it: every header of this prefix is removed first (early-headers.ts).
 */
export const UNRESOLVED_HEADER = 'x-gatehouse-unresolved'

/** envoy.config.core.v3.HeaderValueOption */
const mark = (key: string, value: string): JsonObject => ({
  header: { key, value },
  append_action: 'OVERWRITE_IF_EXISTS_OR_ADD',
})

export const UNRESOLVED_MARK: JsonObject = mark(UNRESOLVED_HEADER, '1')

const refusedHeader = (status: RefuseAction['status']): string =>
  `x-gatehouse-refused-${String(status)}`

/** A header's value has one line; "%" begins a substitution. */
const headerText = (text: string): string =>
  text
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
    .replaceAll('%', '%%')

/** envoy.config.route.v3.RouteAction. The mark's value is the text of the answer. */
export const buildRefusal = ({ status, body }: RefuseAction): JsonObject => ({
  weighted_clusters: {
    clusters: [
      {
        name: UNRESOLVED_CLUSTER,
        weight: 1,
        request_headers_to_add: [mark(refusedHeader(status), headerText(body))],
      },
    ],
  },
})

const marked = (name: string): JsonObject => ({
  filter: { header_filter: { header: { name, present_match: true } } },
})

/** envoy.extensions.filters.network.http_connection_manager.v3.ResponseMapper */
const refusalMapper = (status: RefuseAction['status']): JsonObject => ({
  ...marked(refusedHeader(status)),
  status_code: status,
  body_format_override: {
    text_format_source: { inline_string: `%REQ(${refusedHeader(status)})%` },
  },
})

/**
 * The OAuth documents when Gatehouse does not answer in time: status_on_error is not for that, and Envoy says 504. To a
 * caller it is the same as Gatehouse being gone. Below these paths no backend is waited for.
 */
const LATE_DOCUMENT_MAPPER: JsonObject = {
  filter: {
    and_filter: {
      filters: [
        {
          status_code_filter: {
            comparison: { op: 'EQ', value: { default_value: 504, runtime_key: 'gatehouse.late' } },
          },
        },
        {
          header_filter: {
            header: { name: ':path', string_match: { prefix: '/.well-known/o' } },
          },
        },
      ],
    },
  },
  status_code: 503,
}

/** envoy.extensions.filters.network.http_connection_manager.v3.LocalReplyConfig */
export const LOCAL_REPLY_CONFIG: JsonObject = {
  mappers: [
    {
      ...marked(UNRESOLVED_HEADER),
      status_code: 500,
      body: { inline_string: 'the backend of this route does not exist\n' },
    },
    refusalMapper(500),
    refusalMapper(503),
    LATE_DOCUMENT_MAPPER,
  ],
}
