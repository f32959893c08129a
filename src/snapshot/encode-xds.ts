// xDS resources as JSON → as bytes, by node.cluster, type and name. What is the same object is not encoded again.

import type { JsonObject } from '../ir/json.js'
import { encodeResource, type EncodedResource } from '../xds/encode.js'
import type { GatewaySnapshot, NodeSnapshot, XdsSnapshot } from '../xds/snapshot-cache.js'
import { splitRoutes } from '../xds/translator/split-routes.js'
import type { XdsByNode, XdsResources } from '../xds/translator/xds-resources.js'
import {
  CLUSTER_TYPE,
  ENDPOINT_TYPE,
  LISTENER_TYPE,
  ROUTE_TYPE,
  SECRET_TYPE,
  VIRTUAL_HOST_TYPE,
} from '../xds/type-urls.js'

/** @throws {EncodeError} a resource is not what Envoy's API says: a bug of ours. */
export function encodeXds(byNode: XdsByNode): XdsSnapshot {
  // An only Gateway's resources are those of all Gateways: the same object.
  const encoded = new Map([...new Set(byNode.values())].map((one) => [one, encodeGateway(one)]))
  return new Map([...byNode].map(([node, one]) => [node, encoded.get(one) ?? encodeGateway(one)]))
}

/** The whole form is made of the other's parts when an Envoy asks for it: it is large, and most never do. */
function encodeGateway(resources: XdsResources): GatewaySnapshot {
  const common = new Map([
    [CLUSTER_TYPE, byName(resources.clusters)],
    [ENDPOINT_TYPE, byName(resources.endpoints)],
    [LISTENER_TYPE, byName(resources.listeners)],
    [SECRET_TYPE, byName(resources.secrets)],
  ])
  const { configurations, hosts } = splitRoutes(resources.routes)
  let whole: NodeSnapshot | undefined
  return {
    split: new Map([
      ...common,
      [ROUTE_TYPE, byName(configurations)],
      [VIRTUAL_HOST_TYPE, byName(hosts, VIRTUAL_HOST_TYPE)],
    ]),
    whole: () => (whole ??= new Map([...common, [ROUTE_TYPE, byName(resources.routes)]])),
  }
}

/** typeUrl: where the resources do not say it themselves. */
const byName = (
  resources: readonly JsonObject[],
  typeUrl?: string,
): ReadonlyMap<string, EncodedResource> =>
  new Map(
    resources.map((json) => {
      const resource = encodeResource(json, typeUrl)
      return [resource.name, resource]
    }),
  )
