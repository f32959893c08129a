// Small xDS resources that a real Envoy accepts: a listener that gets its routes by name, a cluster with one endpoint.

import type { JsonObject } from '../../src/model/json.js'
import { CLUSTER_TYPE, ENDPOINT_TYPE, LISTENER_TYPE } from '../../src/xds/encode/type-urls.js'

const ADS: JsonObject = { ads: {}, resource_api_version: 'V3' }
const HTTP =
  'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager'
const ROUTER = 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router'

const address = (to: number): JsonObject => ({
  socket_address: { address: '127.0.0.1', port_value: to },
})

export const listener = (on: number, routes = 'routes', extra: JsonObject = {}): JsonObject => ({
  '@type': LISTENER_TYPE,
  name: `listener-${String(on)}`,
  address: address(on),
  filter_chains: [
    {
      filters: [
        {
          name: 'envoy.filters.network.http_connection_manager',
          typed_config: {
            '@type': HTTP,
            stat_prefix: 'test',
            rds: { route_config_name: routes, config_source: ADS },
            http_filters: [
              { name: 'envoy.filters.http.router', typed_config: { '@type': ROUTER } },
            ],
            ...extra,
          },
        },
      ],
    },
  ],
})

/** An EDS cluster and its endpoint. */
export const cluster = (name: string, to: number): JsonObject[] => [
  {
    '@type': CLUSTER_TYPE,
    name,
    type: 'EDS',
    eds_cluster_config: { eds_config: ADS },
    connect_timeout: '1s',
  },
  {
    '@type': ENDPOINT_TYPE,
    cluster_name: name,
    endpoints: [{ lb_endpoints: [{ endpoint: { address: address(to) } }] }],
  },
]
