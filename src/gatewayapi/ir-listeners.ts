// Translated Gateways and routes → the listeners, filter chains and virtual hosts of the model.

import type { Certificate, FilterChain, Gateway, Listener, VirtualHost } from '../ir/ir.js'
import { listenerName, virtualHostName } from '../ir/names.js'
import type { TranslatedGateway } from './gateways.js'
import { reservedDomains } from './listener-isolation.js'
import type { TranslatedListener } from './listeners.js'
import { byPrecedence } from './route-order.js'
import type { TranslatedRoute } from './routes.js'
import type { Shelf } from './shelf.js'
import { compareText } from './world.js'

/** Route configuration → domain → the HTTPRoutes placed there. */
type Placed = ReadonlyMap<string, ReadonlyMap<string, readonly TranslatedRoute[]>>

export function buildGateways(
  shelf: Shelf,
  gateways: readonly TranslatedGateway[],
  routes: readonly TranslatedRoute[],
): readonly Gateway[] {
  const placed = placeRoutes(routes)
  return gateways.map((gateway) => buildGateway(shelf, gateway, placed))
}

export const certificatesOf = (gateways: readonly TranslatedGateway[]): readonly Certificate[] =>
  gateways.flatMap(({ listeners }) =>
    listeners
      .filter(({ isProgrammed }) => isProgrammed)
      .flatMap(({ certificates }) => certificates),
  )

function placeRoutes(routes: readonly TranslatedRoute[]): Placed {
  const placed = new Map<string, Map<string, TranslatedRoute[]>>()
  for (const route of routes)
    for (const { routeConfig, domain } of route.placements) {
      const domains = placed.get(routeConfig) ?? new Map<string, TranslatedRoute[]>()
      placed.set(routeConfig, domains)
      const members = domains.get(domain)
      if (members === undefined) domains.set(domain, [route])
      else members.push(route)
    }
  return placed
}

function buildGateway(
  shelf: Shelf,
  { key, gateway, listeners }: TranslatedGateway,
  placed: Placed,
): Gateway {
  const programmed = listeners.filter(({ isProgrammed }) => isProgrammed)
  const ports = [...new Set(programmed.map(({ spec }) => spec.port))].sort((a, b) => a - b)
  const built = ports.map((port) =>
    buildListener(
      shelf,
      gateway.metadata,
      port,
      programmed.filter(({ spec }) => spec.port === port),
      placed,
    ),
  )
  const { namespace, name } = gateway.metadata
  return shelf.keep(`gateway ${key}`, built, () => ({ namespace, name, listeners: built }))
}

function buildListener(
  shelf: Shelf,
  gateway: { readonly namespace: string; readonly name: string },
  port: number,
  listeners: readonly TranslatedListener[],
  placed: Placed,
): Listener {
  const name = listenerName(gateway.namespace, gateway.name, port)
  // HTTP listeners of a port share one route configuration: Envoy tells them apart by host alone.
  const unique = [
    ...new Map(listeners.map((listener) => [listener.routeConfig, listener])).values(),
  ]
  const chains = unique
    .sort((a, b) => compareText(a.routeConfig, b.routeConfig))
    .map((listener) =>
      buildChain(shelf, listener, domainsOf(listener.routeConfig, listeners, placed)),
    )
  return shelf.keep(`listener ${name}`, chains, () => ({ name, port, chains }))
}

type Domains = readonly (readonly [string, readonly TranslatedRoute[]])[]

/** listeners: of the port. */
function domainsOf(
  routeConfig: string,
  listeners: readonly TranslatedListener[],
  placed: Placed,
): Domains {
  const sharing = listeners.filter((listener) => listener.routeConfig === routeConfig)
  const reserved = reservedDomains(sharing).map((domain) => [domain, []] as const)
  const domains = new Map([...reserved, ...(placed.get(routeConfig) ?? [])])
  return [...domains].sort(([a], [b]) => compareText(a, b))
}

function buildChain(shelf: Shelf, listener: TranslatedListener, domains: Domains): FilterChain {
  const { routeConfig, spec, certificates } = listener
  const virtualHosts = domains.map(([domain, routes]) =>
    shelf.keep(`virtual host ${virtualHostName(routeConfig, domain)}`, routes, () =>
      buildVirtualHost(routeConfig, domain, routes),
    ),
  )
  return shelf.keep(`chain ${routeConfig}`, [listener, ...virtualHosts], () => ({
    name: routeConfig,
    ...(spec.protocol === 'HTTPS'
      ? {
          tls: {
            serverNames: spec.hostname === undefined ? [] : [spec.hostname.toLowerCase()],
            certificates: certificates.map(({ name }) => name),
          },
        }
      : {}),
    virtualHosts,
  }))
}

const buildVirtualHost = (
  routeConfig: string,
  domain: string,
  routes: readonly TranslatedRoute[],
): VirtualHost => ({
  name: virtualHostName(routeConfig, domain),
  domains: [domain],
  routes: routes
    .flatMap((route) => route.routes)
    .sort(byPrecedence)
    .map(({ route }) => route),
})
