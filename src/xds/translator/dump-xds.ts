// Converts the resources of each kind of Envoy to JSON for the config dump, without anything that may be secret.

import type { DescField, DescMessage, MessageShape } from '@bufbuild/protobuf'
import { AnySchema } from '@bufbuild/protobuf/wkt'
import {
  isJsonObject,
  type Json,
  type JsonObject,
  type LazyJson,
  type LazyJsonObject,
} from '../../model/json.js'
import { HeaderValueSchema } from '../../wire/grpc/generated/envoy/config/core/v3/base_pb.js'
import {
  HeaderMatcherSchema,
  QueryParameterMatcherSchema,
  RouteSchema,
  VirtualHostSchema,
} from '../../wire/grpc/generated/envoy/config/route/v3/route_components_pb.js'
import { RouteConfigurationSchema } from '../../wire/grpc/generated/envoy/config/route/v3/route_pb.js'
import { TlsCertificateSchema } from '../../wire/grpc/generated/envoy/extensions/transport_sockets/tls/v3/common_pb.js'
import { GenericSecretSchema } from '../../wire/grpc/generated/envoy/extensions/transport_sockets/tls/v3/secret_pb.js'
import { registry } from '../../wire/grpc/protos.js'
import type { EncodedResource } from '../encode/encode.js'
import type { EncodedHost, EncodedRoute, EncodedRoutes } from '../encode/encode-routes.js'
import { decode, messageJson, resourceJson } from '../encode/read.js'
import { ROUTE_TYPE, TYPE_URL_PREFIX } from '../encode/type-urls.js'
import type { XdsByNode, XdsResources } from './xds-resources.js'

const REDACTED = '[redacted]'

/** Fields that may be secret. The name of a header or parameter does not show whether its value is. */
const SECRETS: ReadonlySet<DescField> = new Set([
  TlsCertificateSchema.field.privateKey,
  TlsCertificateSchema.field.password,
  GenericSecretSchema.field.secret,
  HeaderValueSchema.field.value,
  HeaderValueSchema.field.rawValue,
  HeaderMatcherSchema.field.stringMatch,
  HeaderMatcherSchema.field.rangeMatch,
  QueryParameterMatcherSchema.field.stringMatch,
])

/** Dumps the resources by node.cluster and kind. Each resource and each route is converted on demand. */
export const dumpXds = (byNode: XdsByNode): LazyJsonObject =>
  Object.fromEntries([...byNode].map(([node, resources]) => [node, dumpResources(resources)]))

const dumpResources = (resources: XdsResources): LazyJsonObject => ({
  listeners: resources.listeners.map(dumpResource),
  routes: resources.routes.map(dumpRoutes),
  clusters: resources.clusters.map(dumpResource),
  endpoints: resources.endpoints.map(dumpResource),
  secrets: resources.secrets.map(dumpResource),
})

const dumpResource =
  (resource: EncodedResource): LazyJson =>
  () =>
    withoutSecrets(AnySchema, resourceJson(resource))

const dumpRoutes =
  ({ split, hosts }: EncodedRoutes): LazyJson =>
  () => {
    const own = decode(RouteConfigurationSchema, split)
    return {
      '@type': ROUTE_TYPE,
      ...dumpMessage(RouteConfigurationSchema, { ...own, vhds: undefined }),
      virtual_hosts: hosts.flat().map(dumpHost),
    }
  }

const dumpHost =
  ({ own, routes }: EncodedHost): LazyJson =>
  () => ({
    ...dumpMessage(VirtualHostSchema, decode(VirtualHostSchema, own)),
    routes: routes.flat().map(dumpRoute),
  })

const dumpRoute =
  (route: EncodedRoute): LazyJson =>
  () =>
    dumpMessage(RouteSchema, decode(RouteSchema, route))

const dumpMessage = <Desc extends DescMessage>(
  schema: Desc,
  message: MessageShape<Desc>,
): JsonObject => withoutSecrets(schema, messageJson(schema, message)) as JsonObject

/** Redacts the JSON of a message of this schema. */
function withoutSecrets(schema: DescMessage, json: Json): Json {
  if (!isJsonObject(json)) return json
  const type = schema === AnySchema ? typeOfAny(json) : schema
  return Object.fromEntries(
    Object.entries(json).map(([name, value]) => {
      const field = type.fields.find((each) => each.name === name)
      return [name, field === undefined ? value : fieldWithoutSecrets(field, value)]
    }),
  )
}

function fieldWithoutSecrets(field: DescField, value: Json): Json {
  if (SECRETS.has(field)) return REDACTED
  const { message } = field
  if (message === undefined) return value
  if (field.fieldKind === 'list')
    return (value as readonly Json[]).map((item) => withoutSecrets(message, item))
  if (field.fieldKind !== 'map') return withoutSecrets(message, value)
  return Object.fromEntries(
    Object.entries(value as JsonObject).map(([key, item]) => [key, withoutSecrets(message, item)]),
  )
}

function typeOfAny({ '@type': url }: JsonObject): DescMessage {
  const name = typeof url === 'string' ? url.slice(TYPE_URL_PREFIX.length) : ''
  const type = registry.getMessage(name)
  if (type === undefined) throw new Error(`proto/ has no "${name}"`)
  return type
}
