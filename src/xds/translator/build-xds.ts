// Ir → the xDS resources of every kind of Envoy that may ask: of one Gateway, or of all of them.

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
import { verifyXds } from './verify-xds.js'
import { buildRouteConfiguration } from './virtual-host.js'
import type { XdsOptions } from './xds-resources.js'
import { EVERY_GATEWAY, type XdsByNode, type XdsResources } from './xds-resources.js'

/** Of two gateways that bind the same port, the first keeps it: one Envoy cannot bind it twice. */
function onePerPort(listeners: readonly Listener[]): readonly Listener[] {
  const ports = new Set<number>()
  return listeners.filter(({ port }) => !ports.has(port) && ports.add(port))
}

const chainsOf = (listeners: readonly Listener[]): readonly FilterChain[] =>
  listeners.flatMap((listener) => listener.chains)

const destinationsOf = memo((routes: Chunk<Route>): readonly string[] =>
  routes.flatMap(({ action }) =>
    action.type === 'forward'
      ? action.destinations.flatMap(({ destination }) => destination ?? [])
      : [],
  ),
)

/** Each once. */
const destinationsOfHosts = memo((hosts: Chunk<VirtualHost>): readonly string[] => [
  ...new Set(hosts.flatMap(({ routes }) => namedChunks(routes).flatMap(destinationsOf))),
])

/** Which of the destinations are named: the list itself when all of them are. Looked for anew when other names come. */
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

const reachable = (
  destinations: readonly Destination[],
  chains: readonly FilterChain[],
): readonly Destination[] =>
  reachableIn(destinations)(
    chains.flatMap(({ virtualHosts }) => namedChunks(virtualHosts).map(destinationsOfHosts)),
  )

function presented(
  certificates: readonly Certificate[],
  chains: readonly FilterChain[],
): readonly Certificate[] {
  const names = new Set(chains.flatMap((chain) => chain.tls?.certificates ?? []))
  return certificates.filter((certificate) => names.has(certificate.name))
}

const listenerOf = memoWith((listener: Listener, options: XdsOptions) =>
  encodeListener(buildListener(listener, options)),
)
const clusterOf = memoWith((destination: Destination, options: XdsOptions) =>
  encodeCluster(buildCluster(destination, options)),
)
const assignmentOf = memo((destination: Destination) =>
  encodeLoadAssignment(buildLoadAssignment(destination)),
)
const secretOf = memo((certificate: Certificate) => encodeSecret(buildSecret(certificate)))
const answeredCluster = encodeCluster(buildEmptyCluster(ANSWERED_CLUSTER))
const unresolvedCluster = encodeCluster(buildEmptyCluster(UNRESOLVED_CLUSTER))

const clustersOfChunk = memoWith((destinations: Chunk<Destination>, options: XdsOptions) => {
  const key = JSON.stringify(options)
  return destinations.map((destination) => clusterOf(destination, options, key))
})

const clustersOf = memoWith((destinations: readonly Destination[], options: XdsOptions) => {
  const key = JSON.stringify(options)
  return concat([
    ...namedChunks(destinations).map((chunk) => clustersOfChunk(chunk, options, key)),
    [answeredCluster, unresolvedCluster],
  ])
})

const assignmentsOfChunk = memo((destinations: Chunk<Destination>) =>
  destinations.filter(({ endpoints }) => endpoints.type === 'addresses').map(assignmentOf),
)

const assignmentsOf = memo((destinations: readonly Destination[]) =>
  concat(namedChunks(destinations).map(assignmentsOfChunk)),
)

/** By the chain: its listener is another object whenever anything in it changes, but gives nothing but the port. */
const routesOf = memoWith((chain: FilterChain, listener: Listener) =>
  buildRouteConfiguration(listener, chain),
)

function buildResources(ir: Ir, listeners: readonly Listener[], options: XdsOptions): XdsResources {
  const key = JSON.stringify(options)
  const chains = chainsOf(listeners)
  const destinations = reachable(ir.destinations, chains)
  return {
    listeners: listeners.map((listener) => listenerOf(listener, options, key)),
    routes: listeners.flatMap((listener) =>
      listener.chains.map((chain) => routesOf(chain, listener, String(listener.port))),
    ),
    clusters: clustersOf(destinations, options, key),
    endpoints: assignmentsOf(destinations),
    secrets: presented(ir.certificates, chains).map(secretOf),
  }
}

function verified(resources: XdsResources): XdsResources {
  verifyXds(resources)
  return resources
}

const nodeCluster = (gateway: Gateway): string => `${gateway.namespace}/${gateway.name}`

function build(ir: Ir, options: XdsOptions): XdsByNode {
  const everyListener = onePerPort(ir.gateways.flatMap((gateway) => gateway.listeners))
  const every = verified(buildResources(ir, everyListener, options))
  const only = ir.gateways.length === 1 && everyListener.length === ir.gateways[0]?.listeners.length
  return new Map([
    [EVERY_GATEWAY, every],
    ...ir.gateways.map((gateway): [string, XdsResources] => [
      nodeCluster(gateway),
      only ? every : verified(buildResources(ir, gateway.listeners, options)),
    ]),
  ])
}

/** What was built last, and of what. */
export interface BuiltXds {
  readonly ir: Pick<Ir, 'gateways' | 'destinations' | 'certificates'>
  readonly options: XdsOptions
  readonly xds: XdsByNode
}

/**
 * The resources of every kind of Envoy. What did not change in the model since previous, or since any call, gives the same
 * objects. Throws when the result contradicts itself (verify-xds.ts): a bug, never a user's mistake.
 */
export const buildXds = (ir: Ir, options: XdsOptions, previous?: BuiltXds): XdsByNode =>
  previous !== undefined &&
  previous.ir.gateways === ir.gateways &&
  previous.ir.destinations === ir.destinations &&
  previous.ir.certificates === ir.certificates &&
  JSON.stringify(previous.options) === JSON.stringify(options)
    ? previous.xds
    : build(ir, options)
