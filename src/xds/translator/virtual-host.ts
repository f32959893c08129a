// VirtualHost → Envoy's VirtualHost. Domains need no forms with a port: the route configuration ignores the port.

import { create } from '@bufbuild/protobuf'
import {
  type Route as EnvoyRoute,
  VirtualHostSchema,
} from '../../grpc/generated/envoy/config/route/v3/route_components_pb.js'
import {
  RouteConfigurationSchema,
  VhdsSchema,
} from '../../grpc/generated/envoy/config/route/v3/route_pb.js'
import { type Chunk, concat, namedChunks } from '../../incremental/chunked-list.js'
import { memo, memoWith } from '../../incremental/memo.js'
import type { FilterChain, Listener, VirtualHost } from '../../ir/ir.js'
import type { Route } from '../../ir/route.js'
import {
  type EncodedHost,
  type EncodedRoutes,
  encodeHost,
  encodeRoute,
  encodeRoutes,
} from '../encode/encode-routes.js'
import { COUNT_HOPS, tooManyHopsRoute } from './hops.js'
import { ADS_SOURCE } from './messages.js'
import { pathParameterRoutes } from './path-parameters.js'
import { buildRoute } from './route.js'
import { contextKey, type RouteContext, routeContext } from './route-context.js'

const routeOf = memoWith((route: Route, context: RouteContext) =>
  encodeRoute(buildRoute(route, context)),
)

/** Only a redirect depends on where its route stands. */
const isContextual = ({ action }: Route): boolean => action.type === 'redirect'

const routesOf = memoWith((routes: Chunk<Route>, context: RouteContext) => {
  const key = contextKey(context)
  return routes.map((route) => routeOf(route, context, isContextual(route) ? key : ''))
})

const someContextual = memo((routes: Chunk<Route>) => routes.some(isContextual))

/** Before any other. */
const frontRoutes = (name: string, chunks: readonly Chunk<Route>[]): readonly EnvoyRoute[] => [
  tooManyHopsRoute(name),
  ...pathParameterRoutes(name, chunks),
]

function build(virtualHost: VirtualHost, context: RouteContext): EncodedHost {
  const key = contextKey(context)
  const { name, domains } = virtualHost
  const chunks = namedChunks(virtualHost.routes)
  return encodeHost(
    create(VirtualHostSchema, { name, domains: [...domains] }),
    concat([
      frontRoutes(name, chunks).map(encodeRoute),
      ...chunks.map((routes) => routesOf(routes, context, someContextual(routes) ? key : '')),
    ]),
  )
}

const hostOf = memoWith(build)

/** Of one listener and chain: what a context depends on but for the host is in key. */
const hostsOf = memoWith(
  (hosts: Chunk<VirtualHost>, [listener, chain]: readonly [Listener, FilterChain]) =>
    hosts.map((host) => buildVirtualHost(host, routeContext(listener, chain, host))),
)

/** envoy.config.route.v3.VirtualHost: the same object for the same virtual host in the same context. */
export const buildVirtualHost = (virtualHost: VirtualHost, context: RouteContext): EncodedHost =>
  hostOf(virtualHost, context, contextKey(context))

/** Virtual hosts are fetched over the stream that everything comes from. */
const VHDS = create(VhdsSchema, { configSource: ADS_SOURCE })

/** envoy.config.route.v3.RouteConfiguration. The port in Host is ignored, and not removed: backends see Host as sent. */
export const buildRouteConfiguration = (listener: Listener, chain: FilterChain): EncodedRoutes =>
  encodeRoutes(
    create(RouteConfigurationSchema, {
      name: chain.name,
      ignorePortInHostMatching: true,
      requestHeadersToAdd: [COUNT_HOPS],
    }),
    VHDS,
    namedChunks(chain.virtualHosts).map((hosts) =>
      hostsOf(
        hosts,
        [listener, chain],
        `${String(listener.port)} ${String(chain.tls === undefined)}`,
      ),
    ),
  )
