// Builds the bootstrap of an Envoy that gets everything else from Gatehouse over ADS.

import { create } from '@bufbuild/protobuf'
import type { JsonObject } from '../../model/json.js'
import { XDS_CLUSTER } from '../../model/names.js'
import {
  type Admin,
  AdminSchema,
  type Bootstrap,
  type Bootstrap_DynamicResourcesSchema as DynamicResourcesSchema,
  BootstrapSchema,
} from '../../wire/grpc/generated/envoy/config/bootstrap/v3/bootstrap_pb.js'
import {
  ApiConfigSource_ApiType as ApiType,
  ApiVersion,
} from '../../wire/grpc/generated/envoy/config/core/v3/config_source_pb.js'
import {
  type OverloadManager,
  OverloadManagerSchema,
} from '../../wire/grpc/generated/envoy/config/overload/v3/overload_pb.js'
import { DownstreamConnectionsConfigSchema } from '../../wire/grpc/generated/envoy/extensions/resource_monitors/downstream_connections/v3/downstream_connections_pb.js'
import { messageJson } from '../encode/read.js'
import { ADS_SOURCE, durationOf, type FieldsOf, typedConfig } from '../translator/messages.js'
import {
  buildServerClusters,
  buildXdsCluster,
  envoyAddress,
  type GatehouseAddress,
  type GatehouseConnection,
} from './gatehouse-clusters.js'
import { LAYERED_RUNTIME } from './runtime.js'

/** What an Envoy needs to know to start. */
export interface BootstrapOptions {
  /** The Gateway that this Envoy serves: "*" or "NAMESPACE/NAME". */
  readonly nodeCluster: string
  /** Identifies the Envoy in logs and status. */
  readonly nodeId: string
  readonly connection: GatehouseConnection
  readonly envoyAdmin: AdminAddress
  /** Whether to request the state of the world at every change instead of only the changes (delta xDS). */
  readonly world?: boolean
}

/** Address of Envoy's admin interface: an IP address, or a Unix socket that its user and group may connect to. */
export type AdminAddress = GatehouseAddress

/** File mode of the admin socket. Envoy exits at startup if the socket's folder does not exist. */
const ADMIN_SOCKET_MODE = 0o660

/** envoy.config.bootstrap.v3.Admin */
export const buildAdmin = (admin: AdminAddress): Admin =>
  create(AdminSchema, { address: envoyAddress(admin, ADMIN_SOCKET_MODE) })

/** Reconnect backoff. Envoy's default may wait 30 s, which would delay changes made while Gatehouse was away. */
const RECONNECT = { baseInterval: durationOf(250), maxInterval: durationOf(3_000) }

/** Limit of open connections. Without one, of which Envoy warns, a flood of connections takes all file descriptors. */
const MOST_CONNECTIONS = 50_000n

/** envoy.config.overload.v3.OverloadManager; the connections of the admin address do not count. */
export const buildOverloadManager = (): OverloadManager =>
  create(OverloadManagerSchema, {
    resourceMonitors: [
      {
        name: 'envoy.resource_monitors.global_downstream_max_connections',
        configType: typedConfig(DownstreamConnectionsConfigSchema, {
          maxActiveDownstreamConnections: MOST_CONNECTIONS,
        }),
      },
    ],
  })

const dynamicResources = (world: boolean): FieldsOf<typeof DynamicResourcesSchema> => ({
  adsConfig: {
    apiType: world ? ApiType.GRPC : ApiType.DELTA_GRPC,
    transportApiVersion: ApiVersion.V3,
    grpcServices: [
      {
        targetSpecifier: {
          case: 'envoyGrpc',
          value: { clusterName: XDS_CLUSTER, retryPolicy: { retryBackOff: RECONNECT } },
        },
      },
    ],
    setNodeOnFirstMessageOnly: true,
  },
  cdsConfig: ADS_SOURCE,
  ldsConfig: ADS_SOURCE,
})

/** envoy.config.bootstrap.v3.Bootstrap */
export const buildBootstrap = (options: BootstrapOptions): Bootstrap =>
  create(BootstrapSchema, {
    node: { id: options.nodeId, cluster: options.nodeCluster },
    admin: buildAdmin(options.envoyAdmin),
    layeredRuntime: LAYERED_RUNTIME,
    overloadManager: buildOverloadManager(),
    dynamicResources: dynamicResources(options.world === true),
    staticResources: {
      clusters: [buildXdsCluster(options.connection), ...buildServerClusters(options.connection)],
    },
  })

/** Returns the bootstrap as the JSON that Envoy reads from a file. */
export const bootstrapJson = (bootstrap: Bootstrap): JsonObject =>
  messageJson(BootstrapSchema, bootstrap)
