// Builds Envoy's RouteConfiguration and VirtualHosts. Domains have no variants with a port, which is ignored.

import { create } from '@bufbuild/protobuf'
import { type Chunk, concat, namedChunks } from '../../kit/incremental/chunked-list.js'
import { memo, memoWith, memoWorkWith } from '../../kit/incremental/memo.js'
import { mapEach, mapWork, type Work } from '../../kit/turns.js'
import type { FilterChain, Listener, VirtualHost } from '../../model/ir.js'
import { isProtected } from '../../model/is-protected.js'
import type { Route } from '../../model/route.js'
import {
  RouteSchema,
  VirtualHostSchema,
} from '../../wire/grpc/generated/envoy/config/route/v3/route_components_pb.js'
import {
  RouteConfigurationSchema,
  VhdsSchema,
} from '../../wire/grpc/generated/envoy/config/route/v3/route_pb.js'
import { encode, type Encoded } from '../encode/encode.js'
import {
  createRoutesEncoder,
  type EncodedHost,
  type EncodedRoute,
  type EncodedRoutes,
  encodeRoute,
  withName,
} from '../encode/encode-routes.js'
import { isForMcp, pathParameterRoute } from './filters/path-parameters.js'
import { COUNT_HOPS, TOO_MANY_HOPS } from './hops.js'
import { ADS_SOURCE } from './messages.js'
import { buildRoute } from './route.js'
import { contextKey, type RouteContext, routeContext } from './route-context.js'

/** Whether the route depends on its listener and virtual host, which only redirects do. */
const isContextual = ({ action }: Route): boolean => action.type === 'redirect'

/** Virtual hosts are fetched over the ADS stream that delivers all other resources too. */
const VHDS = create(VhdsSchema, { configSource: ADS_SOURCE })

const TOO_MANY_HOPS_NAME = 'too-many-hops'
const PATH_PARAMETERS_NAME = 'path-parameters'

/** Routes that hosts share, as bytes without a name: there may be thousands of hosts. */
const tooManyHops = encode(RouteSchema, TOO_MANY_HOPS, TOO_MANY_HOPS_NAME)
const pathParametersOf = (hasMcp: boolean): Encoded =>
  encode(RouteSchema, pathParameterRoute(hasMcp), PATH_PARAMETERS_NAME)
const pathParameters = { mcp: pathParametersOf(true), others: pathParametersOf(false) }

/** Returns the routes that Envoy tries before all others of a host. */
function frontOf(host: string, hasProtected: boolean, hasMcp: boolean): readonly EncodedRoute[] {
  const front = withName(tooManyHops, `${host}/${TOO_MANY_HOPS_NAME}`)
  if (!hasProtected) return [front]
  const parameters = hasMcp ? pathParameters.mcp : pathParameters.others
  return [front, withName(parameters, `${host}/${PATH_PARAMETERS_NAME}`)]
}

/** envoy.config.route.v3.RouteConfiguration. The port in Host is ignored, not removed: backends see Host as sent. */
export type BuildRouteConfiguration = (
  listener: Listener,
  chain: FilterChain,
) => Work<EncodedRoutes>

/** Creates the builder of one translator, which memoises routes, hosts and their chunks. */
export function createRouteConfigurationBuilder(): BuildRouteConfiguration {
  const { encodeHost, encodeRoutes } = createRoutesEncoder()
  const routeOf = memoWith((route: Route, context: RouteContext) =>
    encodeRoute(buildRoute(route, context)),
  )
  const routesOf = memoWorkWith((routes: Chunk<Route>, context: RouteContext) => {
    const key = contextKey(context)
    return mapEach(routes, (route) => routeOf(route, context, isContextual(route) ? key : ''))
  })
  const someContextual = memo((routes: Chunk<Route>) => routes.some(isContextual))
  const someProtected = memo((routes: Chunk<Route>) => routes.some(isProtected))
  const someForMcp = memo((routes: Chunk<Route>) => routes.some(isForMcp))

  const hostOf = memoWorkWith(function* (
    { name, domains, routes }: VirtualHost,
    context: RouteContext,
  ): Work<EncodedHost> {
    const key = contextKey(context)
    const chunks = namedChunks(routes)
    const front = frontOf(name, chunks.some(someProtected), chunks.some(someForMcp))
    const encoded = yield* mapWork(chunks, (chunk) =>
      routesOf(chunk, context, someContextual(chunk) ? key : ''),
    )
    return yield* encodeHost(
      create(VirtualHostSchema, { name, domains: [...domains] }),
      concat([front, ...encoded]),
    )
  })
  /** Hosts of one listener and chain. The key has everything in a context except the host. */
  const hostsOf = memoWorkWith(
    (hosts: Chunk<VirtualHost>, [listener, chain]: readonly [Listener, FilterChain]) =>
      mapWork(hosts, (host) => {
        const context = routeContext(listener, chain, host)
        return hostOf(host, context, contextKey(context))
      }),
  )

  return function* (listener, chain) {
    const key = `${String(listener.port)} ${String(chain.tls === undefined)}`
    return encodeRoutes(
      create(RouteConfigurationSchema, {
        name: chain.name,
        ignorePortInHostMatching: true,
        requestHeadersToAdd: [COUNT_HOPS],
      }),
      VHDS,
      yield* mapWork(namedChunks(chain.virtualHosts), (hosts) =>
        hostsOf(hosts, [listener, chain], key),
      ),
    )
  }
}
