// xDS resources as JSON → as bytes, by node.cluster, type and name. What is the same object is not encoded again.

import type { JsonObject } from '../ir/json.js'
import { encodeResource, type EncodedResource } from '../xds/encode.js'
import type { XdsByNode, XdsResources } from '../xds/translator/xds-resources.js'
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
  // An only Gateway's resources are those of all Gateways: the same object.
  const encoded = new Map([...new Set(byNode.values())].map((one) => [one, encodeTypes(one)]))
  return new Map([...byNode].map(([node, one]) => [node, encoded.get(one) ?? encodeTypes(one)]))
}

const encodeTypes = (resources: XdsResources): ReadonlyMap<string, EncodedByName> =>
  new Map([
    [CLUSTER_TYPE, byName(resources.clusters)],
    [ENDPOINT_TYPE, byName(resources.endpoints)],
    [LISTENER_TYPE, byName(resources.listeners)],
    [ROUTE_TYPE, byName(resources.routes)],
    [SECRET_TYPE, byName(resources.secrets)],
  ])

const byName = (resources: readonly JsonObject[]): EncodedByName =>
  new Map(
    resources.map((json) => {
      const resource = encodeResource(json)
      return [resource.name, resource]
    }),
  )
