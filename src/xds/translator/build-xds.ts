// Ir → the xDS resources of every kind of Envoy that may ask: of one Gateway, or of all of them.

import type { Destination } from '../../ir/destination.js'
import type { Certificate, FilterChain, Gateway, Ir, Listener, VirtualHost } from '../../ir/ir.js'
import { ANSWERED_CLUSTER, UNRESOLVED_CLUSTER } from '../../ir/names.js'
import { buildCluster, buildEmptyCluster } from './cluster.js'
import { buildListener } from './listener.js'
import { buildLoadAssignment } from './load-assignment.js'
import { remembered, rememberedWith } from './remembered.js'
import { buildRouteConfiguration } from './route-configuration.js'
import { buildSecret } from './secret.js'
import { verifyXds } from './verify-xds.js'
import type { XdsOptions } from './xds-options.js'
import { EVERY_GATEWAY, type XdsByNode, type XdsResources } from './xds-resources.js'

/** Of two gateways that bind the same port, the first keeps it: one Envoy cannot bind it twice. */
const onePerPort = (listeners: readonly Listener[]): readonly Listener[] => {
  const ports = new Set<number>()
  return listeners.filter(({ port }) => !ports.has(port) && ports.add(port))
}

const chainsOf = (listeners: readonly Listener[]): readonly FilterChain[] =>
  listeners.flatMap((listener) => listener.chains)

const namesBelow = remembered(({ routes }: VirtualHost): ReadonlySet<string | undefined> => {
  const names = new Set<string | undefined>()
  for (const { action } of routes)
    if (action.type === 'forward') for (const to of action.destinations) names.add(to.destination)
  return names
})

const reachable = (
  destinations: readonly Destination[],
  chains: readonly FilterChain[],
): readonly Destination[] => {
  const sets = chains.flatMap((chain) => chain.virtualHosts).map(namesBelow)
  const names = sets.length === 1 ? sets[0] : new Set(sets.flatMap((set) => [...set]))
  return destinations.filter((destination) => names?.has(destination.name))
}

const presented = (
  certificates: readonly Certificate[],
  chains: readonly FilterChain[],
): readonly Certificate[] => {
  const names = new Set(chains.flatMap((chain) => chain.tls?.certificates ?? []))
  return certificates.filter((certificate) => names.has(certificate.name))
}

const rememberedListener = rememberedWith(buildListener)
const rememberedCluster = rememberedWith(buildCluster)
const rememberedAssignment = remembered(buildLoadAssignment)
const rememberedSecret = remembered(buildSecret)
const answeredCluster = buildEmptyCluster(ANSWERED_CLUSTER)
const unresolvedCluster = buildEmptyCluster(UNRESOLVED_CLUSTER)

/** By the chain: its listener is another object whenever anything in it changes, but gives nothing but the port. */
const rememberedRoutes = rememberedWith((chain: FilterChain, listener: Listener) =>
  buildRouteConfiguration(listener, chain),
)

const buildResources = (
  ir: Ir,
  listeners: readonly Listener[],
  options: XdsOptions,
): XdsResources => {
  const key = JSON.stringify(options)
  const chains = chainsOf(listeners)
  const destinations = reachable(ir.destinations, chains)
  return {
    listeners: listeners.map((listener) => rememberedListener(listener, options, key)),
    routes: listeners.flatMap((listener) =>
      listener.chains.map((chain) => rememberedRoutes(chain, listener, String(listener.port))),
    ),
    clusters: [
      ...destinations.map((destination) => rememberedCluster(destination, options, key)),
      answeredCluster,
      unresolvedCluster,
    ],
    endpoints: destinations
      .filter((destination) => destination.endpoints.type === 'addresses')
      .map(rememberedAssignment),
    secrets: presented(ir.certificates, chains).map(rememberedSecret),
  }
}

const verified = (resources: XdsResources): XdsResources => {
  verifyXds(resources)
  return resources
}

const nodeCluster = (gateway: Gateway): string => `${gateway.namespace}/${gateway.name}`

/**
 * Pure but for remembering: what did not change in the model gives the same objects. Throws when the result contradicts
 * itself (verify-xds.ts): a bug, never a user's mistake.
 */
export const buildXds = (ir: Ir, options: XdsOptions): XdsByNode => {
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
