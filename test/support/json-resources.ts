// Converts xDS resources between Envoy's JSON, which keeps tests short, and the form that Gatehouse sends.

import { type DescMessage, fromJson, type JsonValue, type MessageShape } from '@bufbuild/protobuf'
import { atOnce } from '../../src/kit/turns.js'
import type { JsonObject } from '../../src/model/json.js'
import { RouteConfigurationSchema } from '../../src/wire/grpc/generated/envoy/config/route/v3/route_pb.js'
import { registry } from '../../src/wire/grpc/protos.js'
import { encode, type EncodedResource, resourceOf } from '../../src/xds/encode/encode.js'
import {
  createRoutesEncoder,
  type EncodedRoutes,
  encodeRoute,
} from '../../src/xds/encode/encode-routes.js'
import { resourceJson } from '../../src/xds/encode/read.js'
import { TYPE_URL_PREFIX } from '../../src/xds/encode/type-urls.js'
import { ADS_SOURCE } from '../../src/xds/translator/messages.js'
import type { XdsResources } from '../../src/xds/translator/xds-resources.js'

/** @param json with or without '@type'. */
export function messageOf<Desc extends DescMessage>(
  schema: Desc,
  json: JsonObject,
): MessageShape<Desc> {
  const { '@type': type, ...body } = json
  return fromJson(schema, (type === undefined ? json : body) as JsonValue, { registry })
}

function textAt(json: JsonObject, name: string): string | undefined {
  const value = json[name]
  return typeof value === 'string' ? value : undefined
}

/** @param json with '@type', unless typeUrl is given. */
export function encodeJson(
  json: JsonObject,
  typeUrl = textAt(json, '@type') ?? '',
): EncodedResource {
  const schema = registry.getMessage(typeUrl.slice(TYPE_URL_PREFIX.length))
  if (schema === undefined) throw new Error(`unknown type ${typeUrl}`)
  const name = textAt(json, 'name') ?? textAt(json, 'cluster_name') ?? ''
  return resourceOf(schema, name, encode(schema, messageOf(schema, json), name))
}

/** @param json a RouteConfiguration. */
export function encodeRoutesJson(json: JsonObject): EncodedRoutes {
  const configuration = messageOf(RouteConfigurationSchema, json)
  const { virtualHosts } = configuration
  const { encodeHost, encodeRoutes } = createRoutesEncoder()
  return encodeRoutes(
    { ...configuration, virtualHosts: [] },
    { $typeName: 'envoy.config.route.v3.Vhds', configSource: ADS_SOURCE },
    virtualHosts.length === 0
      ? []
      : [
          virtualHosts.map((host) =>
            atOnce(encodeHost({ ...host, routes: [] }, host.routes.map(encodeRoute))),
          ),
        ],
  )
}

/** Returns every resource as Envoy's JSON, by kind; route configurations include their virtual hosts. */
export const jsonOf = (
  resources: XdsResources,
): Readonly<Record<keyof XdsResources, JsonObject[]>> => ({
  listeners: resources.listeners.map(resourceJson),
  routes: resources.routes.map((each) => resourceJson(each.whole())),
  clusters: resources.clusters.map(resourceJson),
  endpoints: resources.endpoints.map(resourceJson),
  secrets: resources.secrets.map(resourceJson),
})
