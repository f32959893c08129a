// Builds the xDS resources from the Ir for each kind of Envoy: one that serves one Gateway, or all of them.

import { type Chunk, concat, namedChunks } from '../../incremental/chunked-list.js'
import { isSameRow } from '../../incremental/diff.js'
import { memo, memoWith } from '../../incremental/memo.js'
import type { Destination } from '../../ir/destination.js'
import type { Certificate, FilterChain, Gateway, Ir, Listener, VirtualHost } from '../../ir/ir.js'
import { ANSWERED_CLUSTER, UNRESOLVED_CLUSTER } from '../../ir/names.js'
import type { Route } from '../../ir/route.js'
import {
  encodeCluster,
  encodeListener,
  encodeLoadAssignment,
  encodeSecret,
} from '../encode/encode.js'
import { buildCluster, buildEmptyCluster } from './cluster.js'
import { buildSecret } from './downstream-tls.js'
import { buildListener } from './listener.js'
import { buildLoadAssignment } from './load-assignment.js'
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
) => readonly Destination[]

function createReachable(): Reachable {
  const namedByRoutes = memo((routes: Chunk<Route>): readonly string[] =>
    routes.flatMap(({ action }) =>
      action.type === 'forward'
        ? action.destinations.flatMap(({ destination }) => destination ?? [])
        : [],
    ),
  )
  /** The unique names in a chunk of hosts. */
  const namedByHosts = memo((hosts: Chunk<VirtualHost>): readonly string[] => [
    ...new Set(hosts.flatMap(({ routes }) => namedChunks(routes).flatMap(namedByRoutes))),
  ])
  /** Recomputed only when the names differ. */
  const reachableIn = memo((destinations: readonly Destination[]) => {
    let past: readonly (readonly string[])[] = []
    let found: readonly Destination[] = []
    return (named: readonly (readonly string[])[]): readonly Destination[] => {
      const isSame =
        named.length === past.length &&
        named.every((names, index) => names === past[index] || isSameRow(names, past[index] ?? []))
      past = named
      if (isSame) return found
      const names = new Set(named.flat())
      const some = destinations.filter(({ name }) => names.has(name))
      found = some.length === destinations.length ? destinations : some
      return found
    }
  })
  return (destinations, chains) =>
    reachableIn(destinations)(
      chains.flatMap(({ virtualHosts }) => namedChunks(virtualHosts).map(namedByHosts)),
    )
}

function presented(
  certificates: readonly Certificate[],
  chains: readonly FilterChain[],
): readonly Certificate[] {
  const names = new Set(chains.flatMap((chain) => chain.tls?.certificates ?? []))
  return certificates.filter((certificate) => names.has(certificate.name))
}

const answeredCluster = encodeCluster(buildEmptyCluster(ANSWERED_CLUSTER))
const unresolvedCluster = encodeCluster(buildEmptyCluster(UNRESOLVED_CLUSTER))

type BuildResources = (ir: Ir, listeners: readonly Listener[]) => XdsResources

/** Creates a builder that memoises the resources of each part of the model. */
function createResourcesBuilder(options: XdsOptions): BuildResources {
  const reachable = createReachable()
  const buildRouteConfiguration = createRouteConfigurationBuilder()
  const listenerOf = memo((listener: Listener) => encodeListener(buildListener(listener, options)))
  const clusterOf = memo((destination: Destination) =>
    encodeCluster(buildCluster(destination, options)),
  )
  const clustersOfChunk = memo((chunk: Chunk<Destination>) => chunk.map(clusterOf))
  const clustersOf = memo((destinations: readonly Destination[]) =>
    concat([
      ...namedChunks(destinations).map(clustersOfChunk),
      [answeredCluster, unresolvedCluster],
    ]),
  )
  const assignmentOf = memo((destination: Destination) =>
    encodeLoadAssignment(buildLoadAssignment(destination)),
  )
  const assignmentsOfChunk = memo((chunk: Chunk<Destination>) =>
    chunk.filter(({ endpoints }) => endpoints.type === 'addresses').map(assignmentOf),
  )
  const assignmentsOf = memo((destinations: readonly Destination[]) =>
    concat(namedChunks(destinations).map(assignmentsOfChunk)),
  )
  const secretOf = memo((certificate: Certificate) => encodeSecret(buildSecret(certificate)))
  /**
   * Keyed by the chain, as its listener is a new object whenever anything in it changes, but contributes only the port.
   */
  const routesOf = memoWith((chain: FilterChain, listener: Listener) =>
    buildRouteConfiguration(listener, chain),
  )
  return (ir, listeners) => {
    const chains = chainsOf(listeners)
    const destinations = reachable(ir.destinations, chains)
    return {
      listeners: listeners.map(listenerOf),
      routes: listeners.flatMap((listener) =>
        listener.chains.map((chain) => routesOf(chain, listener, String(listener.port))),
      ),
      clusters: clustersOf(destinations),
      endpoints: assignmentsOf(destinations),
      secrets: presented(ir.certificates, chains).map(secretOf),
    }
  }
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
  build(ir: Ir): XdsByNode {
    const last = this.#last
    if (last !== undefined && isSameModel(last.model, ir)) return last.xds
    const { gateways, destinations, certificates } = ir
    const xds = this.#buildAll(ir)
    this.#last = { model: { gateways, destinations, certificates }, xds }
    return xds
  }

  #buildAll(ir: Ir): XdsByNode {
    const everyListener = onePerPort(ir.gateways.flatMap((gateway) => gateway.listeners))
    const every = this.#verified(ir, everyListener)
    const only =
      ir.gateways.length === 1 && everyListener.length === ir.gateways[0]?.listeners.length
    return new Map([
      [EVERY_GATEWAY, every],
      ...ir.gateways.map((gateway): [string, XdsResources] => [
        nodeCluster(gateway),
        only ? every : this.#verified(ir, gateway.listeners),
      ]),
    ])
  }

  #verified(ir: Ir, listeners: readonly Listener[]): XdsResources {
    const resources = this.#buildResources(ir, listeners)
    this.#verify(resources)
    return resources
  }
}

const isSameModel = (a: Model, b: Model): boolean =>
  a.gateways === b.gateways &&
  a.destinations === b.destinations &&
  a.certificates === b.certificates

/** Builds the resources for each kind of Envoy once. Throws as XdsBuilder does. */
export const buildXds = (ir: Ir, options: XdsOptions): XdsByNode =>
  new XdsBuilder(options).build(ir)
