// Builds the listeners, filter chains and virtual hosts of the model from translated Gateways and routes.

import type { KeyedMemo } from '../../../../kit/incremental/keyed-memo.js'
import { compareText } from '../../../../kit/incremental/sorted-list.js'
import { mapWork, type Work } from '../../../../kit/turns.js'
import type {
  Certificate,
  FilterChain,
  Gateway,
  Listener,
  VirtualHost,
} from '../../../../model/ir.js'
import { listenerName } from '../../../../model/names.js'
import type { TranslatedGateway } from '../../listeners/gateways.js'
import type { TranslatedListener } from '../../listeners/listeners.js'
import { misdirectedDomains, misdirectedHosts, reservedDomains } from './listener-isolation.js'
import type { Placements } from './placements.js'
import type { RelayCookies } from './relay-cookies.js'

/** The routes of a revision, and the copies that are added for relays. */
export interface RevisionRoutes {
  readonly placed: Placements
  readonly relayCookies: RelayCookies
}

/** Builds the Gateways of the model. */
export function* buildGateways(
  memo: KeyedMemo,
  gateways: readonly TranslatedGateway[],
  routes: RevisionRoutes,
): Work<readonly Gateway[]> {
  const built = yield* mapWork(gateways, (gateway) => buildGateway(memo, gateway, routes))
  return memo.get('gateways', built, () => built)
}

/** Returns the certificates that the listeners and backend connections of Gateways use. */
export const certificatesOf = (gateways: readonly TranslatedGateway[]): readonly Certificate[] =>
  gateways.flatMap(({ listeners, clientCertificate }) => [
    ...listeners
      .filter(({ isProgrammed }) => isProgrammed)
      .flatMap(({ certificates }) => certificates),
    ...(clientCertificate?.ok === true ? [clientCertificate.value] : []),
  ])

function* buildGateway(
  memo: KeyedMemo,
  { key, gateway, listeners }: TranslatedGateway,
  routes: RevisionRoutes,
): Work<Gateway> {
  const programmed = listeners.filter(({ isProgrammed }) => isProgrammed)
  const ports = [...new Set(programmed.map(({ spec }) => spec.port))].sort((a, b) => a - b)
  const built = yield* mapWork(ports, (port) =>
    buildListener(
      memo,
      gateway.metadata,
      port,
      programmed.filter(({ spec }) => spec.port === port),
      routes,
    ),
  )
  const { namespace, name } = gateway.metadata
  return memo.get(`gateway ${key}`, built, () => ({ namespace, name, listeners: built }))
}

function* buildListener(
  memo: KeyedMemo,
  gateway: { readonly namespace: string; readonly name: string },
  port: number,
  listeners: readonly TranslatedListener[],
  routes: RevisionRoutes,
): Work<Listener> {
  const name = listenerName(gateway.namespace, gateway.name, port)
  // HTTP listeners of a port share one route configuration: Envoy distinguishes them by host alone.
  const unique = [
    ...new Map(listeners.map((listener) => [listener.routeConfig, listener])).values(),
  ]
  const sorted = unique.sort((a, b) => compareText(a.routeConfig, b.routeConfig))
  const chains = yield* mapWork(sorted, function* (listener): Work<FilterChain> {
    const { routeConfig } = listener
    const { own, misdirected } = yield* hostsOf(routeConfig, listeners, routes.placed)
    const copied = yield* routes.relayCookies.withCopies(routeConfig, own)
    return buildChain(memo, listener, { own: copied, misdirected })
  })
  return memo.get(`listener ${name}`, chains, () => ({ name, port, chains }))
}

interface ChainHosts {
  /** Sorted by domain. */
  readonly own: readonly VirtualHost[]
  /** Sorted host names of the port's other listeners. */
  readonly misdirected: readonly string[]
}

/** listeners: all of the port. */
function* hostsOf(
  routeConfig: string,
  listeners: readonly TranslatedListener[],
  placed: Placements,
): Work<ChainHosts> {
  const sharing = listeners.filter((listener) => listener.routeConfig === routeConfig)
  const reserved = new Set(reservedDomains(sharing, listeners))
  const there = placed.of(routeConfig)
  const others = misdirectedDomains(sharing, listeners).filter(
    (name) => !reserved.has(name) && !there.has(name),
  )
  return {
    own: yield* there.hosts([...reserved]),
    misdirected: [...new Set(others)].sort(compareText),
  }
}

function buildChain(
  memo: KeyedMemo,
  listener: TranslatedListener,
  { own, misdirected }: ChainHosts,
): FilterChain {
  const { routeConfig, spec, certificates, clients } = listener
  const elsewhere = memo.get(`misdirected ${routeConfig}`, misdirected, () =>
    misdirectedHosts(routeConfig, misdirected),
  )
  return memo.get(`chain ${routeConfig}`, [listener, own, elsewhere], () => ({
    name: routeConfig,
    ...(spec.protocol === 'HTTPS'
      ? {
          tls: {
            serverNames: spec.hostname === undefined ? [] : [spec.hostname.toLowerCase()],
            certificates: certificates.map(({ name }) => name),
            ...(clients === undefined ? {} : { clients }),
          },
        }
      : {}),
    virtualHosts: elsewhere.length === 0 ? own : [...own, ...elsewhere],
  }))
}
