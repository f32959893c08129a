// Parts that the benchmark's Envoy configurations share: a listener with one route, and a cluster for a gRPC server.

import type { JsonObject } from '../src/model/json.js'

const TYPE = 'type.googleapis.com/'
export const HTTP_FILTERS = `${TYPE}envoy.extensions.filters.http`

export const socketAddress = (port: number): JsonObject => ({
  socket_address: { address: '127.0.0.1', port_value: port },
})

/** A listener on loopback, with these filters before the router. */
export function listener(
  port: number,
  filters: readonly JsonObject[],
  route: JsonObject,
): JsonObject {
  const router = {
    name: 'envoy.filters.http.router',
    typed_config: { '@type': `${HTTP_FILTERS}.router.v3.Router` },
  }
  const manager = {
    '@type': `${TYPE}envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager`,
    stat_prefix: 'bench',
    http_filters: [...filters, router],
    route_config: {
      virtual_hosts: [{ name: 'all', domains: ['*'], routes: [route] }],
    },
  }
  return {
    name: String(port),
    address: socketAddress(port),
    filter_chains: [
      {
        filters: [{ name: 'envoy.filters.network.http_connection_manager', typed_config: manager }],
      },
    ],
  }
}

/** A gRPC server behind a Unix socket. */
export function grpcCluster(name: string, path: string): JsonObject {
  const http2 = {
    '@type': `${TYPE}envoy.extensions.upstreams.http.v3.HttpProtocolOptions`,
    explicit_http_config: { http2_protocol_options: {} },
  }
  return {
    name,
    connect_timeout: '1s',
    typed_extension_protocol_options: {
      'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': http2,
    },
    load_assignment: {
      cluster_name: name,
      endpoints: [{ lb_endpoints: [{ endpoint: { address: { pipe: { path } } } }] }],
    },
  }
}
