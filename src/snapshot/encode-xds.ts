// xDS resources as JSON → as bytes, by node.cluster, type and name. What is the same object is not encoded again.

import type { JsonObject } from '../ir/json.js'
import { type EncodedResource, encodeResource } from '../xds/encode/encode.js'
import {
  CLUSTER_TYPE,
  ENDPOINT_TYPE,
  LISTENER_TYPE,
  ROUTE_TYPE,
  SECRET_TYPE,
  VIRTUAL_HOST_TYPE,
} from '../xds/encode/type-urls.js'
import type {
  GatewaySnapshot,
  NodeSnapshot,
  ResourceMap,
  XdsSnapshot,
} from '../xds/server/snapshot-cache.js'
import { splitRoutes } from '../xds/translator/split-routes.js'
import type { XdsByNode, XdsResources } from '../xds/translator/xds-resources.js'

/** previous: a map of it in which nothing has changed is taken over. @throws {EncodeError} a bug of ours. */
export function encodeXds(byNode: XdsByNode, previous?: XdsSnapshot): XdsSnapshot {
  // An only Gateway's resources are those of all Gateways: the same object.
  const encoded = new Map<XdsResources, GatewaySnapshot>()
  for (const [node, resources] of byNode)
    if (!encoded.has(resources))
      encoded.set(resources, encodeGateway(resources, previous?.get(node)?.split))
  return new Map(
    [...byNode].flatMap(([node, resources]) => {
      const gateway = encoded.get(resources)
      return gateway === undefined ? [] : [[node, gateway] as const]
    }),
  )
}

/** The whole form is made of the other's parts when an Envoy asks for it: it is large, and most never do. */
function encodeGateway(resources: XdsResources, before?: NodeSnapshot): GatewaySnapshot {
  const encode = (list: readonly JsonObject[], typeUrl: string) =>
    [typeUrl, byName(list, typeUrl, before?.get(typeUrl))] as const
  const common = [
    encode(resources.clusters, CLUSTER_TYPE),
    encode(resources.endpoints, ENDPOINT_TYPE),
    encode(resources.listeners, LISTENER_TYPE),
    encode(resources.secrets, SECRET_TYPE),
  ]
  const { configurations, hosts } = splitRoutes(resources.routes)
  let whole: NodeSnapshot | undefined
  return {
    split: new Map([
      ...common,
      encode(configurations, ROUTE_TYPE),
      encode(hosts, VIRTUAL_HOST_TYPE),
    ]),
    whole: () =>
      (whole ??= new Map([...common, [ROUTE_TYPE, byName(resources.routes, ROUTE_TYPE)]])),
  }
}

function byName(list: readonly JsonObject[], typeUrl: string, before?: ResourceMap): ResourceMap {
  const resources = list.map((json) => encodeResource(json, typeUrl))
  return before !== undefined && isSame(resources, before)
    ? before
    : new Map(resources.map((resource) => [resource.name, resource]))
}

function isSame(resources: readonly EncodedResource[], before: ResourceMap): boolean {
  if (resources.length !== before.size) return false
  let index = 0
  for (const resource of before.values()) if (resources[index++] !== resource) return false
  return true
}
