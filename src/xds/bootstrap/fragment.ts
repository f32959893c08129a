// Extracts the parts of a static configuration to merge into that of another Envoy: the clusters, and what each filter
// chain's connection manager needs. Addresses, TLS, access logs and the trust in proxies stay as they are there.

import { isJsonObject, type Json, type JsonObject } from '../../model/json.js'
import { ROUTER_FILTER } from '../translator/filters/router.js'

/** Fields of an HttpConnectionManager without which routes could be bypassed or answers would say less. */
const MANAGER_FIELDS = [
  'normalize_path',
  'merge_slashes',
  'path_with_escaped_slashes_action',
  'strip_trailing_host_dot',
  'early_header_mutation_extensions',
  // Rejects header names with "_", which backends may confuse with those with "-" that a policy sets.
  'common_http_protocol_options',
  'always_set_request_id_in_response',
  'local_reply_config',
  'route_config',
] as const

/** Returns the fragment; config is bootstrapJson() of buildStaticConfig(). */
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
    // The filters before the router, in this order.
    http_filters: filters.filter((each) => objectOf(each)['name'] !== ROUTER_FILTER),
  }
}

const objectOf = (value: Json | undefined): JsonObject => (isJsonObject(value) ? value : {})

const isList = (value: Json | undefined): value is readonly Json[] => Array.isArray(value)

const listOf = (value: Json | undefined): readonly Json[] => (isList(value) ? value : [])
