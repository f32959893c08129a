// Virtual hosts as separate resources (VHDS): which route configuration they belong to, and which Envoys accept them.

import type { Node } from '../../grpc/generated/envoy/config/core/v3/base_pb.js'
import { type Chunk, namedChunks } from '../../incremental/chunked-list.js'
import { memo } from '../../incremental/memo.js'
import { listOf } from '../../incremental/named-map.js'
import type { EncodedResource } from '../encode/encode.js'
import type { ResourceMap } from './snapshot-cache.js'

/** Returns the route configuration of a virtual host: the part of its name before the last "/", as Envoy does. */
export const routeConfigurationOf = (host: string): string => host.slice(0, host.lastIndexOf('/'))

/** Returns the hosts of the route configurations that Envoy has. */
export function hostsOf(
  hosts: ResourceMap,
  isHeld: (configuration: string) => boolean,
): ResourceMap {
  const configurations = configurationsOf(hosts)
  const held = new Set([...configurations].filter(isHeld))
  if (held.size === configurations.size) return hosts
  return new Map([...hosts].filter(([host]) => held.has(routeConfigurationOf(host))))
}

const configurationsOf = memo(
  (hosts: ResourceMap): ReadonlySet<string> =>
    new Set(namedChunks(listOf(hosts)).flatMap(configurationsOfChunk)),
)

const configurationsOfChunk = memo((hosts: Chunk<EncodedResource>): readonly string[] => [
  ...new Set(hosts.map(({ name }) => routeConfigurationOf(name))),
])

/** The first Envoy version with which this was seen to work over one delta ADS stream. */
const SINCE = { major: 1, minor: 40 }

/** Whether this version of Envoy accepts virtual hosts over delta xDS; all others get whole route configurations. */
export function takesVirtualHosts(node: Node | undefined): boolean {
  const { userAgentVersionType: agent } = node ?? {}
  if (agent?.case !== 'userAgentBuildVersion') return false
  const { majorNumber, minorNumber } = agent.value.version ?? { majorNumber: 0, minorNumber: 0 }
  return majorNumber > SINCE.major || (majorNumber === SINCE.major && minorNumber >= SINCE.minor)
}
