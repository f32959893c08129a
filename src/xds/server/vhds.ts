// Virtual hosts as separate resources (VHDS): which route configuration they belong to, and which Envoys accept them.

import type { Node } from '../../wire/grpc/generated/envoy/config/core/v3/base_pb.js'
import type { ResourceMap } from './snapshot-cache.js'

/** Returns the route configuration of a virtual host: the part of its name before the last "/", as Envoy does. */
export const routeConfigurationOf = (host: string): string => host.slice(0, host.lastIndexOf('/'))

/** Returns the hosts of the route configurations that Envoy has. configurations: those of the hosts. */
export function hostsOf(
  hosts: ResourceMap,
  configurations: ReadonlySet<string>,
  isHeld: (configuration: string) => boolean,
): ResourceMap {
  const held = new Set([...configurations].filter(isHeld))
  if (held.size === configurations.size) return hosts
  return new Map([...hosts].filter(([host]) => held.has(routeConfigurationOf(host))))
}

/** The first Envoy version with which this was seen to work over one delta ADS stream. */
const SINCE = { major: 1, minor: 40 }

/** Whether this version of Envoy accepts virtual hosts over delta xDS; all others get whole route configurations. */
export function takesVirtualHosts(node: Node | undefined): boolean {
  const { userAgentVersionType: agent } = node ?? {}
  if (agent?.case !== 'userAgentBuildVersion') return false
  const { majorNumber, minorNumber } = agent.value.version ?? { majorNumber: 0, minorNumber: 0 }
  return majorNumber > SINCE.major || (majorNumber === SINCE.major && minorNumber >= SINCE.minor)
}
