// Builds Envoy's RouteConfiguration and VirtualHosts. Domains have no variants with a port, which is ignored.

import { create } from '@bufbuild/protobuf'
import { VirtualHostSchema } from '../../grpc/generated/envoy/config/route/v3/route_components_pb.js'
import {
  RouteConfigurationSchema,
  VhdsSchema,
} from '../../grpc/generated/envoy/config/route/v3/route_pb.js'
import { type Chunk, concat, namedChunks } from '../../incremental/chunked-list.js'
import { memo, memoWith, memoWorkWith } from '../../incremental/memo.js'
import type { FilterChain, Listener, VirtualHost } from '../../ir/ir.js'
import { isProtected } from '../../ir/is-protected.js'
import type { Route } from '../../ir/route.js'
import { mapEach, mapWork, type Work } from '../../turns.js'
import {
  createRoutesEncoder,
  type EncodedHost,
  type EncodedRoutes,
  encodeRoute,
} from '../encode/encode-routes.js'
import { COUNT_HOPS, tooManyHopsRoute } from './hops.js'
import { ADS_SOURCE } from './messages.js'
import { isForMcp, pathParameterRoute } from './path-parameters.js'
import { buildRoute } from './route.js'
import { contextKey, type RouteContext, routeContext } from './route-context.js'

/** Whether the route depends on its listener and virtual host, which only redirects do. */
const isContextual = ({ action }: Route): boolean => action.type === 'redirect'

/** Virtual hosts are fetched over the ADS stream that delivers all other resources too. */
const VHDS = create(VhdsSchema, { configSource: ADS_SOURCE })

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
    const front = [
      tooManyHopsRoute(name),
      ...(chunks.some(someProtected) ? [pathParameterRoute(name, chunks.some(someForMcp))] : []),
    ]
    const encoded = yield* mapWork(chunks, (chunk) =>
      routesOf(chunk, context, someContextual(chunk) ? key : ''),
    )
    return yield* encodeHost(
      create(VirtualHostSchema, { name, domains: [...domains] }),
      concat([front.map(encodeRoute), ...encoded]),
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
