// Translated Gateways and routes → the listeners, filter chains and virtual hosts of the model.

import type { KeyedMemo } from '../../incremental/keyed-memo.js'
import { compareText } from '../../incremental/sorted-list.js'
import type { Certificate, FilterChain, Gateway, Listener } from '../../ir/ir.js'
import { listenerName } from '../../ir/names.js'
import type { TranslatedGateway } from '../listeners/gateways.js'
import type { TranslatedListener } from '../listeners/listeners.js'
import { misdirectedDomains, misdirectedHosts, reservedDomains } from './listener-isolation.js'
import type { RouteChunk } from './route-chunks.js'
import type { OrderedRoute } from './route-order.js'
import { createVirtualHosts, type Domains, type Parts } from './virtual-hosts.js'

/** Route configuration → domain → the routes placed there, as each chunk gives them. */
type Placed = ReadonlyMap<string, ReadonlyMap<string, Parts>>

export function buildGateways(
  memo: KeyedMemo,
  gateways: readonly TranslatedGateway[],
  chunks: readonly RouteChunk[],
): readonly Gateway[] {
  const placed = placeRoutes(chunks)
  const built = gateways.map((gateway) => buildGateway(memo, gateway, placed))
  return memo.get('gateways', built, () => built)
}

export const certificatesOf = (gateways: readonly TranslatedGateway[]): readonly Certificate[] =>
  gateways.flatMap(({ listeners }) =>
    listeners
      .filter(({ isProgrammed }) => isProgrammed)
      .flatMap(({ certificates }) => certificates),
  )

function placeRoutes(chunks: readonly RouteChunk[]): Placed {
  const placed = new Map<string, Map<string, (readonly OrderedRoute[])[]>>()
  for (const chunk of chunks)
    for (const [routeConfig, own] of chunk.placed) {
      const domains = placed.get(routeConfig) ?? new Map<string, (readonly OrderedRoute[])[]>()
      placed.set(routeConfig, domains)
      for (const [domain, routes] of own) {
        const parts = domains.get(domain)
        if (parts === undefined) domains.set(domain, [routes])
        else parts.push(routes)
      }
    }
  return placed
}

function buildGateway(
  memo: KeyedMemo,
  { key, gateway, listeners }: TranslatedGateway,
  placed: Placed,
): Gateway {
  const programmed = listeners.filter(({ isProgrammed }) => isProgrammed)
  const ports = [...new Set(programmed.map(({ spec }) => spec.port))].sort((a, b) => a - b)
  const built = ports.map((port) =>
    buildListener(
      memo,
      gateway.metadata,
      port,
      programmed.filter(({ spec }) => spec.port === port),
      placed,
    ),
  )
  const { namespace, name } = gateway.metadata
  return memo.get(`gateway ${key}`, built, () => ({ namespace, name, listeners: built }))
}

function buildListener(
  memo: KeyedMemo,
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
      buildChain(memo, listener, domainsOf(listener.routeConfig, listeners, placed)),
    )
  return memo.get(`listener ${name}`, chains, () => ({ name, port, chains }))
}

interface ChainDomains {
  readonly own: Domains
  /** Sorted host names of the port's other listeners. */
  readonly misdirected: readonly string[]
}

/** listeners: of the port. */
function domainsOf(
  routeConfig: string,
  listeners: readonly TranslatedListener[],
  placed: Placed,
): ChainDomains {
  const sharing = listeners.filter((listener) => listener.routeConfig === routeConfig)
  const own = new Map<string, Parts>([
    ...reservedDomains(sharing, listeners).map((domain) => [domain, []] as const),
    ...(placed.get(routeConfig) ?? []),
  ])
  const others = new Set(misdirectedDomains(sharing, listeners).filter((name) => !own.has(name)))
  return {
    own: [...own].sort(([a], [b]) => compareText(a, b)),
    misdirected: [...others].sort(compareText),
  }
}

function buildChain(
  memo: KeyedMemo,
  listener: TranslatedListener,
  { own, misdirected }: ChainDomains,
): FilterChain {
  const { routeConfig, spec, certificates } = listener
  const hostsOf = memo.get(`hosts of ${routeConfig}`, [], () => createVirtualHosts(routeConfig))
  const virtualHosts = [
    ...hostsOf(own),
    ...memo.get(`misdirected ${routeConfig}`, misdirected, () =>
      misdirectedHosts(routeConfig, misdirected),
    ),
  ]
  return memo.get(`chain ${routeConfig}`, [listener, ...virtualHosts], () => ({
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
