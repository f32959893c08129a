// VirtualHost → Envoy's VirtualHost. Domains need no forms with a port: the route configuration ignores the port.

import { type Chunk, concat, namedChunks } from '../../incremental/chunked-list.js'
import { memo, memoWith } from '../../incremental/memo.js'
import type { FilterChain, Listener, VirtualHost } from '../../ir/ir.js'
import type { JsonObject } from '../../ir/json.js'
import type { Route } from '../../ir/route.js'
import { COUNT_HOPS, tooManyHopsRoute } from './hops.js'
import { any } from './json-object.js'
import { pathParameterRoutes } from './path-parameters.js'
import { buildRoute } from './route.js'
import { contextKey, type RouteContext, routeContext } from './route-context.js'

const routeOf = memoWith(buildRoute)

/** Only a redirect depends on where its route stands. */
const isContextual = ({ action }: Route): boolean => action.type === 'redirect'

const routesOf = memoWith((routes: Chunk<Route>, context: RouteContext) => {
  const key = contextKey(context)
  return routes.map((route) => routeOf(route, context, isContextual(route) ? key : ''))
})

const someContextual = memo((routes: Chunk<Route>) => routes.some(isContextual))

/** Before any other. */
const frontRoutes = (name: string, chunks: readonly Chunk<Route>[]): readonly JsonObject[] => [
  tooManyHopsRoute(name),
  ...pathParameterRoutes(name, chunks),
]

/** envoy.config.route.v3.VirtualHost */
function build(virtualHost: VirtualHost, context: RouteContext): JsonObject {
  const key = contextKey(context)
  const chunks = namedChunks(virtualHost.routes)
  return {
    name: virtualHost.name,
    domains: virtualHost.domains,
    routes: concat([
      frontRoutes(virtualHost.name, chunks),
      ...chunks.map((routes) => routesOf(routes, context, someContextual(routes) ? key : '')),
    ]),
  }
}

const hostOf = memoWith(build)

/** The same object for the same virtual host in the same context. */
export const buildVirtualHost = (virtualHost: VirtualHost, context: RouteContext): JsonObject =>
  hostOf(virtualHost, context, contextKey(context))

/** envoy.config.route.v3.RouteConfiguration. The port in Host is ignored, and not removed: backends see Host as sent. */
export const buildRouteConfiguration = (listener: Listener, chain: FilterChain): JsonObject =>
  any('envoy.config.route.v3.RouteConfiguration', {
    name: chain.name,
    virtual_hosts: chain.virtualHosts.map((virtualHost) =>
      buildVirtualHost(virtualHost, routeContext(listener, chain, virtualHost)),
    ),
    ignore_port_in_host_matching: true,
    ...COUNT_HOPS,
  })
