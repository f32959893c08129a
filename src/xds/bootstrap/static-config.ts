// Builds one static Envoy configuration from the Ir, which needs no xDS server: the output of `gatehouse translate`.
// ext_authz and ext_proc still lead to Gatehouse.

import { create } from '@bufbuild/protobuf'
import { type Any, anyPack, anyUnpack } from '@bufbuild/protobuf/wkt'
import type { Ir } from '../../model/ir.js'
import {
  type Bootstrap,
  type Bootstrap_StaticResourcesSchema as StaticResourcesSchema,
  BootstrapSchema,
} from '../../wire/grpc/generated/envoy/config/bootstrap/v3/bootstrap_pb.js'
import {
  type Cluster,
  Cluster_DiscoveryType,
  ClusterSchema,
} from '../../wire/grpc/generated/envoy/config/cluster/v3/cluster_pb.js'
import { ClusterLoadAssignmentSchema } from '../../wire/grpc/generated/envoy/config/endpoint/v3/endpoint_pb.js'
import type { FilterChain } from '../../wire/grpc/generated/envoy/config/listener/v3/listener_components_pb.js'
import {
  type Listener,
  ListenerSchema,
} from '../../wire/grpc/generated/envoy/config/listener/v3/listener_pb.js'
import {
  type RouteConfiguration,
  RouteConfigurationSchema,
} from '../../wire/grpc/generated/envoy/config/route/v3/route_pb.js'
import { HttpConnectionManagerSchema } from '../../wire/grpc/generated/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js'
import {
  type Secret,
  SecretSchema,
} from '../../wire/grpc/generated/envoy/extensions/transport_sockets/tls/v3/secret_pb.js'
import {
  type CommonTlsContext,
  DownstreamTlsContextSchema,
  UpstreamTlsContextSchema,
} from '../../wire/grpc/generated/envoy/extensions/transport_sockets/tls/v3/tls_pb.js'
import type { EncodedResource } from '../encode/encode.js'
import type { EncodedRoutes } from '../encode/encode-routes.js'
import { decode } from '../encode/read.js'
import { buildXds } from '../translator/build-xds.js'
import { type FieldsOf, fileSource } from '../translator/messages.js'
import type { XdsOptions } from '../translator/xds-resources.js'
import { EVERY_GATEWAY, type XdsResources } from '../translator/xds-resources.js'
import { type AdminAddress, buildAdmin, buildOverloadManager } from './bootstrap.js'
import { buildServerClusters, type GatehouseConnection } from './gatehouse-clusters.js'
import { LAYERED_RUNTIME } from './runtime.js'

/** What a static configuration is built with. */
export interface StaticConfigOptions {
  readonly xds: XdsOptions
  readonly connection: GatehouseConnection
  readonly envoyAdmin: AdminAddress
  /**
   * inline: the result has the private keys. Otherwise: a folder on Envoy's machine with NAMESPACE.NAME.crt and .key.
   */
  readonly certificates: 'inline' | { readonly folder: string }
}

/** Replaces rds by the route configuration itself. */
function staticManager(packed: Any, routes: readonly EncodedRoutes[]): Any {
  const manager = anyUnpack(packed, HttpConnectionManagerSchema)
  if (manager?.routeSpecifier.case !== 'rds') return packed
  const { routeConfigName } = manager.routeSpecifier.value
  manager.routeSpecifier = { case: 'routeConfig', value: staticRoutes(routeConfigName, routes) }
  return anyPack(HttpConnectionManagerSchema, manager)
}

function staticRoutes(name: string, routes: readonly EncodedRoutes[]): RouteConfiguration {
  const found = routes.find((each) => each.name === name)
  if (found === undefined) throw new Error(`no route configuration is called ${name}`)
  return decode(RouteConfigurationSchema, found.whole())
}

/** Removes sds_config: a certificate without it is one of static_resources.secrets. */
function removeSds(tls: CommonTlsContext | undefined): void {
  for (const certificate of tls?.tlsCertificateSdsSecretConfigs ?? [])
    certificate.sdsConfig = undefined
}

function staticTls(packed: Any): Any {
  const tls = anyUnpack(packed, DownstreamTlsContextSchema)
  if (tls === undefined) return packed
  removeSds(tls.commonTlsContext)
  return anyPack(DownstreamTlsContextSchema, tls)
}

function staticUpstreamTls(packed: Any): Any {
  const tls = anyUnpack(packed, UpstreamTlsContextSchema)
  if (tls === undefined) return packed
  removeSds(tls.commonTlsContext)
  return anyPack(UpstreamTlsContextSchema, tls)
}

function makeStatic(
  { filters, transportSocket }: FilterChain,
  routes: readonly EncodedRoutes[],
): void {
  for (const { configType } of filters)
    if (configType.case === 'typedConfig')
      configType.value = staticManager(configType.value, routes)
  const tls = transportSocket?.configType
  if (tls?.case === 'typedConfig') tls.value = staticTls(tls.value)
}

function staticListener(resource: EncodedResource, routes: readonly EncodedRoutes[]): Listener {
  const listener = decode(ListenerSchema, resource)
  for (const chain of listener.filterChains) makeStatic(chain, routes)
  return listener
}

/** Replaces eds by the endpoints themselves, and sds by the name of the certificate. */
function staticCluster(
  resource: EncodedResource,
  endpoints: ReadonlyMap<string, EncodedResource>,
): Cluster {
  const cluster = decode(ClusterSchema, resource)
  const tls = cluster.transportSocket?.configType
  if (tls?.case === 'typedConfig') tls.value = staticUpstreamTls(tls.value)
  if (cluster.edsClusterConfig === undefined) return cluster
  const found = endpoints.get(cluster.name)
  return {
    ...cluster,
    edsClusterConfig: undefined,
    clusterDiscoveryType: { case: 'type', value: Cluster_DiscoveryType.STATIC },
    loadAssignment: found && decode(ClusterLoadAssignmentSchema, found),
  }
}

function staticSecret(
  resource: EncodedResource,
  certificates: StaticConfigOptions['certificates'],
): Secret {
  if (certificates === 'inline') return decode(SecretSchema, resource)
  const { name } = resource
  const path = `${certificates.folder}/${name.replace('/', '.')}`
  return create(SecretSchema, {
    name,
    type: {
      case: 'tlsCertificate',
      value: {
        certificateChain: fileSource(`${path}.crt`),
        privateKey: fileSource(`${path}.key`),
      },
    },
  })
}

function staticResources(
  { listeners, routes, clusters, endpoints, secrets }: XdsResources,
  options: StaticConfigOptions,
): FieldsOf<typeof StaticResourcesSchema> {
  const assignments = new Map(endpoints.map((resource) => [resource.name, resource]))
  return {
    listeners: listeners.map((listener) => staticListener(listener, routes)),
    clusters: [
      ...clusters.map((cluster) => staticCluster(cluster, assignments)),
      ...buildServerClusters(options.connection),
    ],
    secrets: secrets.map((secret) => staticSecret(secret, options.certificates)),
  }
}

/** envoy.config.bootstrap.v3.Bootstrap. Throws as buildXds does. */
export function buildStaticConfig(ir: Ir, options: StaticConfigOptions): Bootstrap {
  const resources = buildXds(ir, options.xds).get(EVERY_GATEWAY)
  if (resources === undefined) throw new Error('buildXds made nothing for every gateway')
  return create(BootstrapSchema, {
    admin: buildAdmin(options.envoyAdmin),
    layeredRuntime: LAYERED_RUNTIME,
    overloadManager: buildOverloadManager(),
    staticResources: staticResources(resources, options),
  })
}
