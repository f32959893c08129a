// Listener → Envoy's Listener: one address, one filter chain, or for HTTPS one per server name.

import type { FilterChain, Listener } from '../../ir/ir.js'
import type { JsonObject } from '../../ir/json.js'
import { buildDownstreamTls } from './downstream-tls.js'
import { buildHttpConnectionManager } from './http-connection-manager.js'
import { any, jsonObject, unlessEmpty } from './json-object.js'
import type { XdsOptions } from './xds-resources.js'

/** Bounds what Envoy holds of one request or answer; a registration that ext_proc buffers is far below. */
const BUFFER_LIMIT_BYTES = 1_048_576

const TLS_INSPECTOR: JsonObject = {
  name: 'envoy.filters.listener.tls_inspector',
  typed_config: any('envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector'),
}

/** envoy.config.listener.v3.FilterChain */
function buildFilterChain(chain: FilterChain, options: XdsOptions): JsonObject {
  const serverNames = unlessEmpty(chain.tls?.serverNames ?? [])
  return jsonObject({
    name: chain.name,
    filter_chain_match: serverNames && { server_names: serverNames },
    filters: [buildHttpConnectionManager(chain, options)],
    transport_socket: chain.tls && buildDownstreamTls(chain.tls),
  })
}

/**
 * Without SO_REUSEPORT, which lets every process of this user share a port, the workers share one socket; each
 * connection then goes to the worker that has the fewest.
 */
const EXCLUSIVE_PORT: JsonObject = {
  enable_reuse_port: false,
  connection_balance_config: { exact_balance: {} },
}

/** envoy.config.listener.v3.Listener */
export function buildListener(listener: Listener, options: XdsOptions): JsonObject {
  const isTls = listener.chains.some((chain) => chain.tls !== undefined)
  return any('envoy.config.listener.v3.Listener', {
    name: listener.name,
    address: { socket_address: { address: options.listenAddress, port_value: listener.port } },
    listener_filters: isTls ? [TLS_INSPECTOR] : undefined,
    filter_chains: listener.chains.map((chain) => buildFilterChain(chain, options)),
    per_connection_buffer_limit_bytes: BUFFER_LIMIT_BYTES,
    ...(options.exclusivePorts === true ? EXCLUSIVE_PORT : {}),
  })
}
