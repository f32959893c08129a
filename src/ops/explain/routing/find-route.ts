// Finds the listener, filter chain, virtual host and route of a request in the model, in the order in which Envoy does.

import { err, ok, type Result } from '../../../kit/result.js'
import type { Work } from '../../../kit/turns.js'
import type { FilterChain, Gateway, Ir, Listener, VirtualHost } from '../../../model/ir.js'
import { isProtected } from '../../../model/is-protected.js'
import type { Route } from '../../../model/route.js'
import type { Route as EnvoyRoute } from '../../../wire/grpc/generated/envoy/config/route/v3/route_components_pb.js'
import { pathParameterRoute } from '../../../xds/translator/filters/path-parameters.js'
import { TOO_MANY_HOPS } from '../../../xds/translator/hops.js'
import { buildRouteMatch } from '../../../xds/translator/route-match.js'
import {
  type ClientRequest,
  hostNameOf,
  withoutHostDot,
  withoutReserved,
} from './client-request.js'
import { matchesRoute, type RoutedRequest } from './match-route.js'

/** The listener that a request reaches, and the Gateway that has it. */
export interface ListenerPlace {
  readonly gateway: Gateway
  readonly listener: Listener
}

/** How far a request gets in the search for a route; each result has what was found until then. */
export type FoundRoute =
  /** No filter chain has the server name, or the client uses TLS on a plain listener or the reverse. */
  | { readonly type: 'no-chain'; readonly why: string }
  /** Envoy answers 400 before it chooses a route. */
  | { readonly type: 'malformed'; readonly chain: FilterChain; readonly why: string }
  | { readonly type: 'no-host'; readonly chain: FilterChain; readonly request: RoutedRequest }
  | {
      readonly type: 'no-route' | 'too-many-hops' | 'path-parameters'
      readonly chain: FilterChain
      readonly host: VirtualHost
      readonly request: RoutedRequest
    }
  | {
      readonly type: 'route'
      readonly chain: FilterChain
      readonly host: VirtualHost
      readonly route: Route
      /** The request as filters and the backend see it. */
      readonly request: RoutedRequest
    }

/** Returns every listener of the model, in the order in which one Envoy for all Gateways would prefer them. */
export const listenersOf = ({ gateways }: Pick<Ir, 'gateways'>): readonly ListenerPlace[] =>
  gateways.flatMap((gateway) => gateway.listeners.map((listener) => ({ gateway, listener })))

/** Finds the route of a request that reaches the listener. Yields after each route that does not match. */
export function* findRoute({ chains }: Listener, client: ClientRequest): Work<FoundRoute> {
  const chain = findChain(chains, client)
  if (typeof chain === 'string') return { type: 'no-chain', why: chain }
  const why = headerProblem(client)
  if (why !== undefined) return { type: 'malformed', chain, why }
  const target = normalTarget(client.target)
  if (!target.ok) return { type: 'malformed', chain, why: target.error }
  const authority = withoutHostDot(client.authority)
  const headers = withoutReserved(client.headers)
  const request = { method: client.method, authority, target: target.value, headers }
  const host = findHost(chain.virtualHosts, hostNameOf(authority))
  if (host === undefined) return { type: 'no-host', chain, request }
  return { chain, host, request, ...(yield* findIn(host, request)) }
}

/** Envoy tries the routes that the translator adds to each virtual host first (xds/translator/virtual-host.ts). */
function* findIn(
  { routes }: VirtualHost,
  request: RoutedRequest,
): Work<
  | { readonly type: 'no-route' | 'too-many-hops' | 'path-parameters' }
  | { readonly type: 'route'; readonly route: Route }
> {
  if (isMatched(TOO_MANY_HOPS, request)) return { type: 'too-many-hops' }
  if (routes.some(isProtected) && isMatched(PATH_PARAMETERS, request))
    return { type: 'path-parameters' }
  for (const route of routes) {
    if (matchesRoute(buildRouteMatch(route.match), request)) return { type: 'route', route }
    yield
  }
  return { type: 'no-route' }
}

/** It matches the same requests at all hosts. */
const PATH_PARAMETERS = pathParameterRoute(false)

const isMatched = ({ match }: EnvoyRoute, request: RoutedRequest): boolean =>
  match !== undefined && matchesRoute(match, request)

function findChain(chains: readonly FilterChain[], client: ClientRequest): FilterChain | string {
  const plain = chains.find(({ tls }) => tls === undefined)
  if (client.scheme === 'http')
    return plain ?? 'the listener expects TLS, and the client sends plain HTTP'
  if (plain !== undefined) return plain
  const name = hostNameOf(client.authority)
  return (
    best(chains, name, ({ tls }) => tls?.serverNames ?? []) ??
    chains.find(({ tls }) => tls?.serverNames.length === 0) ??
    `no filter chain has the server name "${name}", so the TLS handshake fails`
  )
}

const findHost = (hosts: readonly VirtualHost[], name: string): VirtualHost | undefined =>
  best(hosts, name, ({ domains }) => domains) ?? hosts.find(({ domains }) => domains.includes('*'))

/** Returns the element with the name itself, else the one with the longest "*." pattern that covers it. */
function best<T>(
  list: readonly T[],
  name: string,
  patternsOf: (element: T) => readonly string[],
): T | undefined {
  const exact = list.find((element) => patternsOf(element).includes(name))
  if (exact !== undefined) return exact
  let found: T | undefined
  let length = 0
  for (const element of list)
    for (const pattern of patternsOf(element))
      if (pattern.length > length && covers(pattern, name)) {
        found = element
        length = pattern.length
      }
  return found
}

const covers = (pattern: string, name: string): boolean =>
  pattern.startsWith('*.') && name.length >= pattern.length && name.endsWith(pattern.slice(1))

/** Returns why Envoy rejects the headers (headers_with_underscores_action). */
function headerProblem({ headers }: ClientRequest): string | undefined {
  const name = headers.find(([own]) => own.includes('_'))?.[0]
  return name === undefined ? undefined : `the name of the header "${name}" has an underscore`
}

// Normalises a request target as Envoy does before it chooses a route: normalize_path, merge_slashes, and escaped
// slashes rejected (xds/translator/http-connection-manager.ts).

const ESCAPED_SLASH = /%(?:2f|5c)/i
const ESCAPED_NUL = /%00/
/** Unreserved characters, which are unescaped (RFC 3986 section 6.2.2.2). */
const UNRESERVED = /[A-Za-z0-9._~-]/

/** Returns the path and query that routes are matched with. error: why Envoy answers 400. */
function normalTarget(target: string): Result<string, string> {
  const queryAt = target.indexOf('?')
  const path = queryAt < 0 ? target : target.slice(0, queryAt)
  const query = queryAt < 0 ? '' : target.slice(queryAt)
  if (target.includes('#')) return err('the request target has a fragment ("#")')
  if (!path.startsWith('/')) return err('the path does not begin with a slash')
  if (ESCAPED_SLASH.test(path)) return err('the path has an escaped slash or backslash')
  if (ESCAPED_NUL.test(path)) return err('the path has an escaped NUL')
  return ok(withoutDots(unescaped(path)).replace(/\/{2,}/g, '/') + query)
}

const unescaped = (path: string): string =>
  path.replaceAll('\\', '/').replace(/%([0-9a-f]{2})/gi, (escape, hex: string) => {
    const character = String.fromCharCode(Number.parseInt(hex, 16))
    return UNRESERVED.test(character) ? character : escape
  })

/** Resolves dot segments (RFC 3986 section 5.2.4). */
function withoutDots(path: string): string {
  const segments: string[] = []
  const all = path.split('/').slice(1)
  for (const [index, segment] of all.entries()) {
    const isLast = index === all.length - 1
    if (segment === '..') segments.pop()
    else if (segment !== '.') segments.push(segment)
    if (isLast && (segment === '.' || segment === '..')) segments.push('')
  }
  return `/${segments.join('/')}`
}
