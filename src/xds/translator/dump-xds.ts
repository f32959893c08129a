// The resources of every kind of Envoy → JSON for the config dump, with nothing in it that may be a secret.

import type { DescField, DescMessage } from '@bufbuild/protobuf'
import { AnySchema } from '@bufbuild/protobuf/wkt'
import { HeaderValueSchema } from '../../grpc/generated/envoy/config/core/v3/base_pb.js'
import {
  HeaderMatcherSchema,
  QueryParameterMatcherSchema,
} from '../../grpc/generated/envoy/config/route/v3/route_components_pb.js'
import { TlsCertificateSchema } from '../../grpc/generated/envoy/extensions/transport_sockets/tls/v3/common_pb.js'
import { GenericSecretSchema } from '../../grpc/generated/envoy/extensions/transport_sockets/tls/v3/secret_pb.js'
import { registry } from '../../grpc/protos.js'
import { memo } from '../../incremental/memo.js'
import { isJsonObject, type Json, type JsonObject } from '../../ir/json.js'
import type { Work } from '../../turns.js'
import type { EncodedResource } from '../encode/encode.js'
import { resourceJson } from '../encode/read.js'
import { TYPE_URL_PREFIX } from '../encode/type-urls.js'
import type { XdsByNode, XdsResources } from './xds-resources.js'

const REDACTED = '[redacted]'

/** Nobody can tell by its name whether a header or a parameter is a secret. */
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

/** By node.cluster and kind. Yields between resources, of which there may be thousands. */
export function* dumpXds(byNode: XdsByNode): Work<JsonObject> {
  const dumped = new Map<XdsResources, JsonObject>()
  for (const resources of byNode.values())
    if (!dumped.has(resources)) dumped.set(resources, yield* dumpResources(resources))
  return Object.fromEntries(
    [...byNode].map(([node, resources]) => [node, dumped.get(resources) ?? {}]),
  )
}

function* dumpResources(resources: XdsResources): Work<JsonObject> {
  const kinds = { ...resources, routes: resources.routes.map((each) => each.whole()) }
  const dumped: Record<string, Json> = {}
  for (const [kind, list] of Object.entries<readonly EncodedResource[]>(kinds)) {
    const shown: Json[] = []
    for (const resource of list) {
      shown.push(withoutSecrets(AnySchema, resourceJson(resource)))
      yield
    }
    dumped[kind] = shown
  }
  return dumped
}

/** json: of a message of this schema. */
function withoutSecrets(schema: DescMessage, json: Json): Json {
  if (!isJsonObject(json)) return json
  const type = schema === AnySchema ? typeOfAny(json) : schema
  const fields = fieldsOf(type)
  return Object.fromEntries(
    Object.entries(json).map(([name, value]) => {
      const field = fields.get(name)
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

/** By their names in JSON. */
const fieldsOf = memo(
  (schema: DescMessage): ReadonlyMap<string, DescField> =>
    new Map(schema.fields.map((field) => [field.name, field])),
)

function typeOfAny({ '@type': url }: JsonObject): DescMessage {
  const name = typeof url === 'string' ? url.slice(TYPE_URL_PREFIX.length) : ''
  const type = registry.getMessage(name)
  if (type === undefined) throw new Error(`proto/ has no "${name}"`)
  return type
}
