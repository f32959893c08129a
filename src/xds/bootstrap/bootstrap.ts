// The bootstrap of an Envoy that gets everything else from Gatehouse over ADS.

import type { JsonObject } from '../../ir/json.js'
import { XDS_CLUSTER } from '../../ir/names.js'
import { ADS_SOURCE } from '../translator/json-object.js'
import {
  buildServerClusters,
  buildXdsCluster,
  type GatehouseAddress,
  type GatehouseConnection,
} from './gatehouse-clusters.js'
import { LAYERED_RUNTIME } from './runtime.js'

export interface BootstrapOptions {
  /** Which Gateway this Envoy serves: "*" or "NAMESPACE/NAME". */
  readonly nodeCluster: string
  /** Tells Envoys apart in logs and status. */
  readonly nodeId: string
  readonly connection: GatehouseConnection
  readonly envoyAdmin: AdminAddress
  /** Ask for the state of the world at every change; otherwise for what changed (delta xDS). */
  readonly world?: boolean
}

/** Where Envoy's own admin interface listens: an IP address, or a Unix socket that its user and group may connect to. */
export type AdminAddress = GatehouseAddress

/** Octal 0660. Envoy ends at the start when the folder of the socket is not there. */
const ADMIN_SOCKET_MODE = 0o660

/** envoy.config.bootstrap.v3.Admin */
export const buildAdmin = (admin: AdminAddress): JsonObject => ({
  address:
    admin.type === 'unix'
      ? { pipe: { path: admin.path, mode: ADMIN_SOCKET_MODE } }
      : { socket_address: { address: admin.host, port_value: admin.port } },
})

/** Envoy's default may wait 30 s: what was changed while Gatehouse was away would be as late. */
const RECONNECT: JsonObject = { base_interval: '0.25s', max_interval: '3s' }

/** Envoy counts file descriptors, not memory: without a limit (it warns of that) a flood of connections takes all of them. */
const MOST_CONNECTIONS = 50_000

/** envoy.config.overload.v3.OverloadManager; the connections of the admin address do not count. */
export const buildOverloadManager = (): JsonObject => ({
  resource_monitors: [
    {
      name: 'envoy.resource_monitors.global_downstream_max_connections',
      typed_config: {
        '@type':
          'type.googleapis.com/envoy.extensions.resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig',
        max_active_downstream_connections: MOST_CONNECTIONS,
      },
    },
  ],
})

/** envoy.config.bootstrap.v3.Bootstrap */
export const buildBootstrap = (options: BootstrapOptions): JsonObject => ({
  node: { id: options.nodeId, cluster: options.nodeCluster },
  admin: buildAdmin(options.envoyAdmin),
  layered_runtime: LAYERED_RUNTIME,
  overload_manager: buildOverloadManager(),
  dynamic_resources: {
    ads_config: {
      api_type: options.world === true ? 'GRPC' : 'DELTA_GRPC',
      transport_api_version: 'V3',
      grpc_services: [
        { envoy_grpc: { cluster_name: XDS_CLUSTER, retry_policy: { retry_back_off: RECONNECT } } },
      ],
      set_node_on_first_message_only: true,
    },
    cds_config: ADS_SOURCE,
    lds_config: ADS_SOURCE,
  },
  static_resources: {
    clusters: [buildXdsCluster(options.connection), ...buildServerClusters(options.connection)],
  },
})
