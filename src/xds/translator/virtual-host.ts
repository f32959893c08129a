// VirtualHost → Envoy's VirtualHost. Domains need no forms with a port: the route configuration ignores the port.

import type { VirtualHost } from '../../ir/ir.js'
import type { JsonObject } from '../../ir/json.js'
import { pathParameterRoutes } from './path-parameters.js'
import type { RouteContext } from './route-context.js'
import { buildRoute } from './route.js'

/** envoy.config.route.v3.VirtualHost */
export const buildVirtualHost = (virtualHost: VirtualHost, context: RouteContext): JsonObject => ({
  name: virtualHost.name,
  domains: virtualHost.domains,
  routes: [
    ...pathParameterRoutes(virtualHost),
    ...virtualHost.routes.map((route) => buildRoute(route, context)),
  ],
})
