// VirtualHost → Envoy's VirtualHost. Domains need no forms with a port: the route configuration ignores the port.

import type { VirtualHost } from '../../ir/ir.js'
import type { JsonObject } from '../../ir/json.js'
import type { Route } from '../../ir/route.js'
import { pathParameterRoutes } from './path-parameters.js'
import { rememberedWith } from './remembered.js'
import { contextKey, type RouteContext } from './route-context.js'
import { buildRoute } from './route.js'

const rememberedRoute = rememberedWith(buildRoute)

/** Only a redirect depends on where its route stands. */
const contextual = (route: Route, key: string): string =>
  route.action.type === 'redirect' ? key : ''

/** envoy.config.route.v3.VirtualHost */
const build = (virtualHost: VirtualHost, context: RouteContext): JsonObject => {
  const key = contextKey(context)
  return {
    name: virtualHost.name,
    domains: virtualHost.domains,
    routes: [
      ...pathParameterRoutes(virtualHost),
      ...virtualHost.routes.map((route) => rememberedRoute(route, context, contextual(route, key))),
    ],
  }
}

const rememberedHost = rememberedWith(build)

/** The same object for the same virtual host in the same context. */
export const buildVirtualHost = (virtualHost: VirtualHost, context: RouteContext): JsonObject =>
  rememberedHost(virtualHost, context, contextKey(context))
