// Ir → one static Envoy configuration that needs no xDS server: what `gatehouse translate` prints. ext_authz and
// ext_proc still lead to Gatehouse.

import type { Ir } from '../../ir/ir.js'
import type { Json, JsonObject } from '../../ir/json.js'
import { buildXds } from '../translator/build-xds.js'
import { objectAt, textAt } from '../translator/json-path.js'
import type { XdsOptions } from '../translator/xds-resources.js'
import { EVERY_GATEWAY, type XdsResources } from '../translator/xds-resources.js'
import { type AdminAddress, buildAdmin, buildOverloadManager } from './bootstrap.js'
import { buildServerClusters, type GatehouseConnection } from './gatehouse-clusters.js'
import { LAYERED_RUNTIME } from './runtime.js'

export interface StaticConfigOptions {
  readonly xds: XdsOptions
  readonly connection: GatehouseConnection
  readonly envoyAdmin: AdminAddress
  /** inline: private keys stand in the result. Otherwise: a folder on Envoy's machine that holds NAMESPACE.NAME.crt and .key. */
  readonly certificates: 'inline' | { readonly folder: string }
}

/** A resource as a typed member of static_resources: without '@type'. */
const untyped = (resource: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(resource).filter(([name]) => name !== '@type'))

/** Every object of the tree, innermost first, as replace makes it. */
function rebuild(json: Json, replace: (object: JsonObject) => JsonObject): Json {
  if (Array.isArray(json)) return json.map((item: Json) => rebuild(item, replace))
  if (typeof json !== 'object' || json === null) return json
  const members = Object.entries(json).map(([name, value]): [string, Json] => [
    name,
    rebuild(value, replace),
  ])
  return replace(Object.fromEntries(members))
}

const byName = (resources: readonly JsonObject[], key: string): ReadonlyMap<string, JsonObject> =>
  new Map(resources.map((resource) => [textAt(resource, key) ?? '', untyped(resource)]))

/** rds becomes the route configuration itself; a certificate without sds_config is one of static_resources.secrets. */
const staticListener = (listener: JsonObject, routes: ReadonlyMap<string, JsonObject>): Json =>
  rebuild(untyped(listener), (object) => {
    const { rds, sds_config, ...rest } = object
    if (sds_config !== undefined) return rest
    if (rds === undefined) return object
    const name = textAt(objectAt(object, 'rds'), 'route_config_name') ?? ''
    return { ...rest, route_config: routes.get(name) ?? {} }
  })

function staticCluster(
  cluster: JsonObject,
  endpoints: ReadonlyMap<string, JsonObject>,
): JsonObject {
  const { eds_cluster_config: eds, ...rest } = untyped(cluster)
  if (eds === undefined) return rest
  return {
    ...rest,
    type: 'STATIC',
    load_assignment: endpoints.get(textAt(cluster, 'name') ?? '') ?? {},
  }
}

function staticSecret(
  secret: JsonObject,
  certificates: StaticConfigOptions['certificates'],
): JsonObject {
  if (certificates === 'inline') return untyped(secret)
  const name = textAt(secret, 'name') ?? ''
  const path = `${certificates.folder}/${name.replace('/', '.')}`
  return {
    name,
    tls_certificate: {
      certificate_chain: { filename: `${path}.crt` },
      private_key: { filename: `${path}.key` },
    },
  }
}

function staticResources(resources: XdsResources, options: StaticConfigOptions): JsonObject {
  const routes = byName(resources.routes, 'name')
  const endpoints = byName(resources.endpoints, 'cluster_name')
  return {
    listeners: resources.listeners.map((listener) => staticListener(listener, routes)),
    clusters: [
      ...resources.clusters.map((cluster) => staticCluster(cluster, endpoints)),
      ...buildServerClusters(options.connection),
    ],
    secrets: resources.secrets.map((secret) => staticSecret(secret, options.certificates)),
  }
}

/** envoy.config.bootstrap.v3.Bootstrap. Throws as buildXds does. */
export function buildStaticConfig(ir: Ir, options: StaticConfigOptions): JsonObject {
  const resources = buildXds(ir, options.xds).get(EVERY_GATEWAY)
  if (resources === undefined) throw new Error('buildXds made nothing for every gateway')
  return {
    admin: buildAdmin(options.envoyAdmin),
    layered_runtime: LAYERED_RUNTIME,
    overload_manager: buildOverloadManager(),
    static_resources: staticResources(resources, options),
  }
}
