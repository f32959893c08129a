// Builds the xDS resources from the Ir for each kind of Envoy: one that serves one Gateway, or all of them.

import { type Chunk, concat, namedChunks } from '../../kit/incremental/chunked-list.js'
import { partDifferences } from '../../kit/incremental/diff.js'
import { memo, memoWork, memoWorkWith } from '../../kit/incremental/memo.js'
import type { Parts } from '../../kit/incremental/sorted-list.js'
import { atOnce, mapEach, mapWork, type Work } from '../../kit/turns.js'
import type { Destination } from '../../model/destination.js'
import type {
  Certificate,
  FilterChain,
  Gateway,
  Ir,
  Listener,
  VirtualHost,
} from '../../model/ir.js'
import { ANSWERED_CLUSTER, UNRESOLVED_CLUSTER } from '../../model/names.js'
import type { Route } from '../../model/route.js'
import { encodeCluster, type EncodedResource, encodeSecret } from '../encode/encode.js'
import { encodeLoadAssignment } from '../encode/encode-endpoints.js'
import { encodeFilterChain, encodeListener } from '../encode/encode-listener.js'
import { buildCluster, buildEmptyCluster } from './cluster.js'
import { buildSecret } from './downstream-tls.js'
import { collectorOf } from './filters/tracing.js'
import { buildFilterChain, buildListener } from './listener.js'
import { lbEndpointsOf } from './load-assignment.js'
import { createXdsVerifier } from './verify-xds.js'
import { createRouteConfigurationBuilder } from './virtual-host.js'
import type { XdsOptions } from './xds-resources.js'
import { EVERY_GATEWAY, type XdsByNode, type XdsResources } from './xds-resources.js'

/** Keeps the first of several listeners on the same port: one Envoy cannot bind it twice. */
function onePerPort(listeners: readonly Listener[]): readonly Listener[] {
  const ports = new Set<number>()
  return listeners.filter(({ port }) => !ports.has(port) && ports.add(port))
}

const chainsOf = (listeners: readonly Listener[]): readonly FilterChain[] =>
  listeners.flatMap((listener) => listener.chains)

/** Returns the destinations that are named below the filter chains; the same list if all of them are. */
type Reachable = (
  destinations: readonly Destination[],
  chains: readonly FilterChain[],
) => Work<readonly Destination[]>

/** Maximum number of chunks of routes in hosts that are examined as a whole; others are examined by chunk. */
const FEW_CHUNKS = 4

function createReachable(): Reachable {
  const namedByRoutes = memo((routes: Chunk<Route>): readonly string[] =>
    routes.flatMap(({ action }) =>
      action.type === 'forward'
        ? [...action.destinations, ...(action.mirrors ?? [])].flatMap(
            ({ destination }) => destination ?? [],
          )
        : [],
    ),
  )
  /** The names in a chunk of hosts: those of hosts with many routes by chunk, those of all others once each. */
  const namedByHosts = memoWork(function* (hosts: Chunk<VirtualHost>): Work<Parts<string>> {
    const named = yield* mapWork(hosts, ({ routes }) => mapEach(namedChunks(routes), namedByRoutes))
    const few = named.filter((chunks) => chunks.length <= FEW_CHUNKS)
    const many = named.filter((chunks) => chunks.length > FEW_CHUNKS)
    return [[...new Set(few.flat(2))], ...many.flat()]
  })
  /** Recomputed only when the names differ. */
  const reachableIn = memo((destinations: readonly Destination[]) => {
    let past: Parts<string> = []
    let found: readonly Destination[] = []
    return (named: Parts<string>): readonly Destination[] => {
      const { removed, added } = partDifferences(past, named)
      past = named
      if (removed.length + added.length === 0) return found
      const names = new Set(named.flat())
      const some = destinations.filter(({ name }) => names.has(name))
      found = some.length === destinations.length ? destinations : some
      return found
    }
  })
  return function* (destinations, chains) {
    const named = yield* mapWork(chains, ({ virtualHosts }) =>
      mapWork(namedChunks(virtualHosts), namedByHosts),
    )
    return reachableIn(destinations)(named.flat(2))
  }
}

/** Returns the certificates that Envoy presents, to clients or to backends. */
function presented(
  certificates: readonly Certificate[],
  chains: readonly FilterChain[],
  toBackends: readonly string[],
): readonly Certificate[] {
  const names = new Set([
    ...chains.flatMap((chain) => chain.tls?.certificates ?? []),
    ...toBackends,
  ])
  return certificates.filter((certificate) => names.has(certificate.name))
}

const answeredCluster = encodeCluster(buildEmptyCluster(ANSWERED_CLUSTER))
const unresolvedCluster = encodeCluster(buildEmptyCluster(UNRESOLVED_CLUSTER))

const collectorClusters = (options: XdsOptions): readonly EncodedResource[] =>
  options.tracing === undefined
    ? []
    : [encodeCluster(buildCluster(collectorOf(options.tracing), options))]

type BuildResources = (ir: Ir, listeners: readonly Listener[]) => Work<XdsResources>

/** Creates a builder that memoises the resources of each part of the model. */
function createResourcesBuilder(options: XdsOptions): BuildResources {
  const reachable = createReachable()
  const buildRouteConfiguration = createRouteConfigurationBuilder()
  const chainOf = memo((chain: FilterChain) => encodeFilterChain(buildFilterChain(chain, options)))
  const listenerOf = memoWork(function* (listener: Listener) {
    const chains = yield* mapEach(listener.chains, chainOf)
    return encodeListener(buildListener(listener, options), chains)
  })
  const clusterOf = memo((destination: Destination) =>
    encodeCluster(buildCluster(destination, options)),
  )
  const own = [answeredCluster, unresolvedCluster, ...collectorClusters(options)]
  const certificatesOfChunk = memo((chunk: Chunk<Destination>): readonly string[] => [
    ...new Set(chunk.flatMap(({ tls }) => tls?.certificate ?? [])),
  ])
  const clustersOfChunk = memoWork((chunk: Chunk<Destination>) => mapEach(chunk, clusterOf))
  const clustersOf = memoWork(function* (destinations: readonly Destination[]) {
    const clusters = yield* mapWork(namedChunks(destinations), clustersOfChunk)
    return concat([...clusters, own])
  })
  const assignmentsOf = createAssignmentsBuilder()
  const secretOf = memo((certificate: Certificate) => encodeSecret(buildSecret(certificate)))
  /**
   * Keyed by the chain, as its listener is a new object whenever anything in it changes, but contributes only the port.
   */
  const routesOf = memoWorkWith((chain: FilterChain, listener: Listener) =>
    buildRouteConfiguration(listener, chain),
  )
  return function* (ir, listeners) {
    const chains = chainsOf(listeners)
    const destinations = yield* reachable(ir.destinations, chains)
    const routes = yield* mapWork(listeners, (listener) =>
      mapWork(listener.chains, (chain) => routesOf(chain, listener, String(listener.port))),
    )
    return {
      listeners: yield* mapWork(listeners, listenerOf),
      routes: routes.flat(),
      clusters: yield* clustersOf(destinations),
      endpoints: yield* assignmentsOf(destinations),
      secrets: yield* mapEach(
        presented(ir.certificates, chains, namedChunks(destinations).flatMap(certificatesOfChunk)),
        secretOf,
      ),
    }
  }
}

type BuildAssignments = (destinations: readonly Destination[]) => Work<readonly EncodedResource[]>

/** Creates a builder that memoises the endpoints of each destination whose addresses are known. */
function createAssignmentsBuilder(): BuildAssignments {
  const assignmentOf = memoWork(function* ({ name, endpoints }: Destination) {
    return endpoints.type === 'addresses'
      ? [yield* encodeLoadAssignment(name, lbEndpointsOf(endpoints.addresses))]
      : []
  })
  const assignmentsOfChunk = memoWork(function* (chunk: Chunk<Destination>) {
    return (yield* mapWork(chunk, assignmentOf)).flat()
  })
  return memoWork(function* (destinations) {
    return concat(yield* mapWork(namedChunks(destinations), assignmentsOfChunk))
  })
}

const nodeCluster = (gateway: Gateway): string => `${gateway.namespace}/${gateway.name}`

/** The parts of the model that the xDS resources depend on. */
type Model = Pick<Ir, 'gateways' | 'destinations' | 'certificates'>

/** The sole owner of the memoised xDS resources, for one set of options. */
export class XdsBuilder {
  readonly options: XdsOptions
  readonly #buildResources: BuildResources
  readonly #verify = createXdsVerifier()
  #last: { readonly model: Model; readonly xds: XdsByNode } | undefined

  constructor(options: XdsOptions) {
    this.options = options
    this.#buildResources = createResourcesBuilder(options)
  }

  /**
   * Returns the resources for each kind of Envoy. Parts of the model that did not change since an earlier call give the
   * same objects. Throws if the result contradicts itself (verify-xds.ts): a bug, never a user's mistake.
   */
  *build(ir: Ir): Work<XdsByNode> {
    const last = this.#last
    if (last !== undefined && isSameModel(last.model, ir)) return last.xds
    const { gateways, destinations, certificates } = ir
    const xds = yield* this.#buildAll(ir)
    this.#last = { model: { gateways, destinations, certificates }, xds }
    return xds
  }

  *#buildAll(ir: Ir): Work<XdsByNode> {
    const everyListener = onePerPort(ir.gateways.flatMap((gateway) => gateway.listeners))
    const every = yield* this.#verified(ir, everyListener)
    const only =
      ir.gateways.length === 1 && everyListener.length === ir.gateways[0]?.listeners.length
    const byNode = new Map([[EVERY_GATEWAY, every]])
    for (const gateway of ir.gateways) {
      const own = only ? every : yield* this.#verified(ir, gateway.listeners)
      byNode.set(nodeCluster(gateway), own)
    }
    return byNode
  }

  *#verified(ir: Ir, listeners: readonly Listener[]): Work<XdsResources> {
    const resources = yield* this.#buildResources(ir, listeners)
    yield* this.#verify(resources)
    return resources
  }
}

const isSameModel = (a: Model, b: Model): boolean =>
  a.gateways === b.gateways &&
  a.destinations === b.destinations &&
  a.certificates === b.certificates

/** Builds the resources for each kind of Envoy once. Throws as XdsBuilder does. */
export const buildXds = (ir: Ir, options: XdsOptions): XdsByNode =>
  atOnce(new XdsBuilder(options).build(ir))
