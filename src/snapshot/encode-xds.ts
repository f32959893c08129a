// xDS resources as JSON → as bytes, by node.cluster, type and name. What is the same object is not encoded again.

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

/** @throws {EncodeError} a resource is not what Envoy's API says: a bug of ours. */
export function encodeXds(byNode: XdsByNode): EncodedXds {
  const byName = (resources: readonly JsonObject[]): EncodedByName =>
    new Map(
      resources.map((json) => {
        const resource = encodeResource(json)
        return [resource.name, resource]
      }),
    )
  return new Map(
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
}
