// A static configuration → the parts of it that somebody puts into an Envoy of their own: what the connection manager of each
// filter chain needs, and clusters. Addresses, TLS, access logs and what is trusted of proxies in front stay as they are there.

import { isJsonObject, type Json, type JsonObject } from '../../ir/json.js'
import { ROUTER_FILTER } from '../translator/filter-names.js'

/** Fields of an HttpConnectionManager without which a route could be passed by, or answers would say less. */
const MANAGER_FIELDS = [
  'normalize_path',
  'merge_slashes',
  'path_with_escaped_slashes_action',
  'strip_trailing_host_dot',
  'early_header_mutation_extensions',
  // Headers with "_", which backends may take for those that a policy sets with "-".
  'common_http_protocol_options',
  'always_set_request_id_in_response',
  'local_reply_config',
  'route_config',
] as const

/** config: bootstrapJson() of buildStaticConfig(). */
export function fragmentOf(config: JsonObject): JsonObject {
  const { listeners = [], clusters = [] } = objectOf(config['static_resources'])
  const chains = listOf(listeners).flatMap((listener) =>
    listOf(objectOf(listener)['filter_chains']),
  )
  return {
    listeners: chains.map((chain) => ({
      name: objectOf(chain)['name'] ?? '',
      http_connection_manager: managerOf(objectOf(chain)),
    })),
    clusters,
    layered_runtime: config['layered_runtime'] ?? {},
  }
}

function managerOf(chain: JsonObject): JsonObject {
  const [filter] = listOf(chain['filters'])
  const manager = objectOf(objectOf(filter)['typed_config'])
  const fields = MANAGER_FIELDS.flatMap((name) => {
    const value = manager[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  const filters = listOf(manager['http_filters'])
  return {
    ...Object.fromEntries(fields),
    // In front of the router, in this order.
    http_filters: filters.filter((each) => objectOf(each)['name'] !== ROUTER_FILTER),
  }
}

const objectOf = (value: Json | undefined): JsonObject => (isJsonObject(value) ? value : {})

const isList = (value: Json | undefined): value is readonly Json[] => Array.isArray(value)

const listOf = (value: Json | undefined): readonly Json[] => (isList(value) ? value : [])
