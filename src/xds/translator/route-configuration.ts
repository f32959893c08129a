// A filter chain's virtual hosts → Envoy's RouteConfiguration.

import type { FilterChain, Listener } from '../../ir/ir.js'
import type { JsonObject } from '../../ir/json.js'
import { any } from './json-object.js'
import { routeContext } from './route-context.js'
import { buildVirtualHost } from './virtual-host.js'

/** envoy.config.route.v3.RouteConfiguration. The port in Host is ignored, and not removed: backends see Host as sent. */
export const buildRouteConfiguration = (listener: Listener, chain: FilterChain): JsonObject =>
  any('envoy.config.route.v3.RouteConfiguration', {
    name: chain.name,
    virtual_hosts: chain.virtualHosts.map((virtualHost) =>
      buildVirtualHost(virtualHost, routeContext(listener, chain, virtualHost)),
    ),
    ignore_port_in_host_matching: true,
  })
