// A route that leads back to the gateway: each pass makes the value of a header longer (ir/hops.ts), and a request that
// has passed too often is answered 508 instead of being sent on.

import { HOP, HOPS_HEADER, MAX_HOPS } from '../../ir/hops.js'
import type { JsonObject } from '../../ir/json.js'
import { buildExtAuthzPerRoute } from './ext-authz.js'
import { EXT_AUTHZ_FILTER } from './filter-names.js'

/** Fields of envoy.config.route.v3.RouteConfiguration: added last, as the request leaves, so that no rule reads it before. */
export const COUNT_HOPS: JsonObject = {
  request_headers_to_add: [
    {
      header: { key: HOPS_HEADER, value: `%REQ(${HOPS_HEADER})%${HOP}` },
      append_action: 'OVERWRITE_IF_EXISTS_OR_ADD',
    },
  ],
}

/** One value that grows, not one more each time: Envoy matches each value of a header by itself. */
const TOO_MANY = `.{${String(MAX_HOPS)},}`

/** envoy.config.route.v3.Route; it must come first. host: the name of its virtual host. */
export const tooManyHopsRoute = (host: string): JsonObject => ({
  name: `${host}/too-many-hops`,
  match: {
    prefix: '/',
    headers: [{ name: HOPS_HEADER, string_match: { safe_regex: { regex: TOO_MANY } } }],
  },
  direct_response: {
    status: 508,
    body: {
      inline_string: 'this request has passed the gateway too often: a route leads back to it\n',
    },
  },
  typed_per_filter_config: { [EXT_AUTHZ_FILTER]: buildExtAuthzPerRoute({}) },
})
