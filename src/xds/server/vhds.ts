// Virtual hosts as resources of their own (VHDS): which route configuration they belong to, and which Envoys take them.

import type { Node } from '../../grpc/generated/envoy/config/core/v3/base_pb.js'
import { type Chunk, namedChunks } from '../../incremental/chunked-list.js'
import { memo } from '../../incremental/memo.js'
import { listOf } from '../../incremental/named-map.js'
import type { EncodedResource } from '../encode/encode.js'
import type { ResourceMap } from './snapshot-cache.js'

/** The part of the name before the last "/": by it Envoy finds out whom a host that it is sent belongs to. */
export const routeConfigurationOf = (host: string): string => host.slice(0, host.lastIndexOf('/'))

/** The hosts of the route configurations that Envoy has. */
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

/** The first Envoy that this was seen to work with over one delta ADS stream. */
const SINCE = { major: 1, minor: 40 }

/** Only Envoys that ask for changes (delta) can; the others get whole route configurations. */
export function takesVirtualHosts(node: Node | undefined): boolean {
  const { userAgentVersionType: agent } = node ?? {}
  if (agent?.case !== 'userAgentBuildVersion') return false
  const { majorNumber, minorNumber } = agent.value.version ?? { majorNumber: 0, minorNumber: 0 }
  return majorNumber > SINCE.major || (majorNumber === SINCE.major && minorNumber >= SINCE.minor)
}
