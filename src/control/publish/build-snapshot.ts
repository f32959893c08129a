// Builds everything to publish from the Ir, in slices: the servers' tables and the encoded xDS. Pure, except for
// memoisation.

import { hash } from 'node:crypto'
import { type AuthzTable, authzTableWork } from '../../extauthz/authz-table.js'
import { type ProcTable, procTableWork } from '../../extproc/proc-table.js'
import { type Chunk, concat, keyedChunks, namedChunks } from '../../kit/incremental/chunked-list.js'
import { memo, memoWork } from '../../kit/incremental/memo.js'
import { namedMap } from '../../kit/incremental/named-map.js'
import { atOnce, mapEach, mapWork, type Work } from '../../kit/turns.js'
import type { FilterChain, Gateway, Ir, Listener, VirtualHost } from '../../model/ir.js'
import type { EncodedResource } from '../../xds/encode/encode.js'
import type { EncodedHost } from '../../xds/encode/encode-routes.js'
import {
  CLUSTER_TYPE,
  ENDPOINT_TYPE,
  LISTENER_TYPE,
  ROUTE_TYPE,
  SECRET_TYPE,
  VIRTUAL_HOST_TYPE,
} from '../../xds/encode/type-urls.js'
import type { GatewaySnapshot, NodeSnapshot, XdsSnapshot } from '../../xds/server/snapshot-cache.js'
import { XdsBuilder } from '../../xds/translator/build-xds.js'
import type { XdsByNode, XdsOptions, XdsResources } from '../../xds/translator/xds-resources.js'

/** Everything that is published together. */
export interface Snapshot {
  /** Hash of the content: equal revisions mean equal snapshots. */
  readonly revision: string
  readonly ir: Ir
  /** The translated resources, for the config dump. */
  readonly resources: XdsByNode
  /** What it was built with, which reuses unchanged parts for the next snapshot. */
  readonly builders: Builders
  /** The resources in the form that the ADS server needs. */
  readonly xds: XdsSnapshot
  readonly authzTable: AuthzTable
  readonly procTable: ProcTable
}

/** Parts of the build that keep results from snapshot to snapshot. */
interface Builders {
  readonly revisionOf: RevisionOf
  readonly xds: XdsBuilder
  readonly groupXds: GroupXds
}

/** Returns previous itself for an equal Ir. Throws (in XdsBuilder) on a bug in the translation. */
export function* snapshotWork(
  ir: Ir,
  options: XdsOptions,
  previous?: Snapshot,
  rememberedTokens?: number,
): Work<Snapshot> {
  const builders = buildersFor(options, previous)
  const revision = yield* builders.revisionOf(ir)
  if (revision === previous?.revision) return previous
  const authzTable = yield* authzTableWork(ir.authz, previous?.authzTable, rememberedTokens)
  const resources = yield* builders.xds.build(ir)
  const isSame = resources === previous?.resources
  const xds = isSame ? previous.xds : yield* builders.groupXds(resources, previous?.xds)
  const procTable = yield* procTableWork(ir.proc, previous?.procTable)
  return { revision, ir, resources, builders, xds, authzTable, procTable }
}

/** Like snapshotWork(), at once. */
export const buildSnapshot = (...inputs: Parameters<typeof snapshotWork>): Snapshot =>
  atOnce(snapshotWork(...inputs))

function buildersFor(options: XdsOptions, previous: Snapshot | undefined): Builders {
  const known = previous?.builders
  if (known === undefined)
    return {
      revisionOf: createRevisionOf(),
      xds: new XdsBuilder(options),
      groupXds: createGroupXds(),
    }
  const isFit = JSON.stringify(known.xds.options) === JSON.stringify(options)
  return isFit ? known : { ...known, xds: new XdsBuilder(options) }
}

// Hashes the content of a model. Unchanged objects are not read again, as their hashes are memoised.

const hashOf = (content: unknown): string => hash('sha256', JSON.stringify(content), 'base64url')

/** Returns a memoised hash function. contentOf must cover all of the part; large children can be included as hashes. */
const hashed = <Part extends object>(
  contentOf: (part: Part) => Work<unknown>,
): ((part: Part) => Work<string>) =>
  memoWork(function* (part) {
    const own = hashOf(yield* contentOf(part))
    yield
    return own
  })

/** Computes the revision: equal for equal content, in every process. */
type RevisionOf = (ir: Ir) => Work<string>

/** Creates a function that keeps the hashes of parts. */
function createRevisionOf(): RevisionOf {
  const partHash = memo((part: object) => hashOf(part))
  const chunkHash = hashed((chunk: Chunk<object>) => mapEach(chunk, partHash))
  const gatewayHash = createGatewayHash(chunkHash)
  return function* ({ gateways, destinations, certificates, authz, proc }) {
    const lists = [
      yield* mapWork(gateways, gatewayHash),
      yield* mapWork(namedChunks(destinations), chunkHash),
      yield* mapWork(namedChunks(certificates), chunkHash),
      yield* mapWork(keyedChunks(authz), chunkHash),
      yield* mapWork(keyedChunks(proc), chunkHash),
    ]
    return hashOf(lists).slice(0, 22)
  }
}

/** Routes of a host that is hashed as a whole, which is several times as fast. */
const FEW_ROUTES = 4

function createGatewayHash(
  chunkHash: (chunk: Chunk<object>) => Work<string>,
): (gateway: Gateway) => Work<string> {
  const hostHash = hashed(function* (host: VirtualHost) {
    const { routes, ...own } = host
    return routes.length <= FEW_ROUTES
      ? host
      : [own, yield* mapWork(namedChunks(routes), chunkHash)]
  })
  const hostsHash = hashed((hosts: Chunk<VirtualHost>) => mapWork(hosts, hostHash))
  const chainHash = hashed(function* ({ virtualHosts, ...own }: FilterChain) {
    return [own, yield* mapWork(namedChunks(virtualHosts), hostsHash)]
  })
  const listenerHash = hashed(function* ({ chains, ...own }: Listener) {
    return [own, yield* mapWork(chains, chainHash)]
  })
  return hashed(function* ({ listeners, ...own }: Gateway) {
    return [own, yield* mapWork(listeners, listenerHash)]
  })
}

// Groups encoded resources by node.cluster, type and name, in the two forms that Envoys ask for.

/** Groups the resources of all nodes. previous: its unchanged maps are reused. */
type GroupXds = (byNode: XdsByNode, previous?: XdsSnapshot) => Work<XdsSnapshot>

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
