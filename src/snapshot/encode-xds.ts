// xDS resources as JSON → as bytes, by node.cluster, type and name. A resource whose JSON did not change is not
// encoded again.

import type { JsonObject } from '../ir/json.js'
import { encodeResource, type EncodedResource } from '../xds/encode.js'
import type { XdsByNode } from '../xds/translator/xds-resources.js'
import {
  CLUSTER_TYPE,
  ENDPOINT_TYPE,
  LISTENER_TYPE,
  ROUTE_TYPE,
  SECRET_TYPE,
} from '../xds/type-urls.js'

/** node.cluster → type URL → name → resource. */
export type EncodedXds = ReadonlyMap<string, ReadonlyMap<string, EncodedByName>>
type EncodedByName = ReadonlyMap<string, EncodedResource>

/** What was encoded, by its JSON: of the snapshot in force. */
export type EncodedMemory = ReadonlyMap<string, EncodedResource>

/** @throws {EncodeError} a resource is not what Envoy's API says: a bug of ours. */
export function encodeXds(
  byNode: XdsByNode,
  before: EncodedMemory,
): { readonly xds: EncodedXds; readonly memory: EncodedMemory } {
  const memory = new Map<string, EncodedResource>()
  const encode = (json: JsonObject): EncodedResource => {
    const text = JSON.stringify(json)
    const encoded = memory.get(text) ?? before.get(text) ?? encodeResource(json)
    memory.set(text, encoded)
    return encoded
  }
  const byName = (resources: readonly JsonObject[]): EncodedByName =>
    new Map(resources.map(encode).map((resource) => [resource.name, resource]))
  const xds = new Map(
    [...byNode].map(([node, { clusters, endpoints, listeners, routes, secrets }]) => [
      node,
      new Map([
        [CLUSTER_TYPE, byName(clusters)],
        [ENDPOINT_TYPE, byName(endpoints)],
        [LISTENER_TYPE, byName(listeners)],
        [ROUTE_TYPE, byName(routes)],
        [SECRET_TYPE, byName(secrets)],
      ]),
    ]),
  )
  return { xds, memory }
}
