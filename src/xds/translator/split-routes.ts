// Route configurations with their virtual hosts in them → ones without, and the hosts as resources of their own: Envoy
// finds those by the name of their configuration (VHDS), and a change in one host sends that host.

import { memo } from '../../incremental/memo.js'
import type { JsonObject } from '../../ir/json.js'
import { ADS_SOURCE } from './json-object.js'
import { objectsAt } from './json-path.js'

export interface SplitRoutes {
  /** envoy.config.route.v3.RouteConfiguration */
  readonly configurations: readonly JsonObject[]
  /** envoy.config.route.v3.VirtualHost, without '@type'; named CONFIGURATION/DOMAIN. */
  readonly hosts: readonly JsonObject[]
}

export const splitRoutes = (configurations: readonly JsonObject[]): SplitRoutes => ({
  configurations: configurations.map(withoutHosts),
  hosts: configurations.flatMap((configuration) => objectsAt(configuration, 'virtual_hosts')),
})

/** One that has no hosts says so itself: Envoy would wait for the first of them, and its listener with it. */
const withoutHosts = memo((configuration: JsonObject): JsonObject => {
  const { virtual_hosts: hosts, ...rest } = configuration
  return Array.isArray(hosts) && hosts.length > 0
    ? { ...rest, vhds: { config_source: ADS_SOURCE } }
    : configuration
})
