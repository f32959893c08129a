// Groups encoded resources by node.cluster, type and name, in the two forms that Envoys ask for.

import { type Chunk, concat } from '../incremental/chunked-list.js'
import { memo } from '../incremental/memo.js'
import { namedMap } from '../incremental/named-map.js'
import { mapEach, type Work } from '../turns.js'
import type { EncodedResource } from '../xds/encode/encode.js'
import type { EncodedHost } from '../xds/encode/encode-routes.js'
import {
  CLUSTER_TYPE,
  ENDPOINT_TYPE,
  LISTENER_TYPE,
  ROUTE_TYPE,
  SECRET_TYPE,
  VIRTUAL_HOST_TYPE,
} from '../xds/encode/type-urls.js'
import type { GatewaySnapshot, NodeSnapshot, XdsSnapshot } from '../xds/server/snapshot-cache.js'
import type { XdsByNode, XdsResources } from '../xds/translator/xds-resources.js'

/** Groups the resources of all nodes. previous: its unchanged maps are reused. */
export type GroupXds = (byNode: XdsByNode, previous?: XdsSnapshot) => Work<XdsSnapshot>

/** Creates a function that keeps what it has made of chunks of hosts. */
export function createGroupXds(): GroupXds {
  const resourcesOf = memo((hosts: Chunk<EncodedHost>) => hosts.map(({ resource }) => resource))
  return (byNode, previous) => groupXds(byNode, resourcesOf, previous)
}

type ResourcesOf = (hosts: Chunk<EncodedHost>) => readonly EncodedResource[]

function* groupXds(
  byNode: XdsByNode,
  resourcesOf: ResourcesOf,
  previous?: XdsSnapshot,
): Work<XdsSnapshot> {
  // If there is only one Gateway, its resources and those of all Gateways are the same object.
  const grouped = new Map<XdsResources, GatewaySnapshot>()
  for (const [node, resources] of byNode)
    if (!grouped.has(resources))
      grouped.set(
        resources,
        yield* groupGateway(resources, resourcesOf, previous?.get(node)?.split),
      )
  return new Map(
    [...byNode].flatMap(([node, resources]) => {
      const gateway = grouped.get(resources)
      return gateway === undefined ? [] : [[node, gateway] as const]
    }),
  )
}

/** Groups the resources of one node. The whole form is built when an Envoy asks for it. */
function* groupGateway(
  resources: XdsResources,
  resourcesOf: ResourcesOf,
  before?: NodeSnapshot,
): Work<GatewaySnapshot> {
  const group = (list: readonly EncodedResource[], typeUrl: string) =>
    [typeUrl, namedMap(list, before?.get(typeUrl))] as const
  const { clusters, endpoints, listeners, secrets, routes } = resources
  const common = yield* mapEach(
    [
      [clusters, CLUSTER_TYPE],
      [endpoints, ENDPOINT_TYPE],
      [listeners, LISTENER_TYPE],
      [secrets, SECRET_TYPE],
    ] as const,
    ([list, typeUrl]) => group(list, typeUrl),
  )
  const hosts = concat(routes.flatMap((configuration) => configuration.fetched.map(resourcesOf)))
  yield
  let whole: NodeSnapshot | undefined
  return {
    split: new Map([
      ...common,
      group(
        routes.map(({ split }) => split),
        ROUTE_TYPE,
      ),
      group(hosts, VIRTUAL_HOST_TYPE),
    ]),
    whole: () =>
      (whole ??= new Map([...common, [ROUTE_TYPE, namedMap(routes.map((each) => each.whole()))]])),
  }
}
