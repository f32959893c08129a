// The version of an Envoy, from what it says of itself when it connects.

import type { Node } from '../../grpc/generated/envoy/config/core/v3/base_pb.js'

/** MAJOR.MINOR.PATCH, as a field of its own; nothing for a client that does not say it. */
export function envoyVersionOf({ userAgentVersionType: agent }: Node): {
  readonly envoyVersion?: string
} {
  const version = agent.case === 'userAgentBuildVersion' ? agent.value.version : undefined
  if (version === undefined) return {}
  const { majorNumber, minorNumber, patch } = version
  return { envoyVersion: `${majorNumber}.${minorNumber}.${patch}` }
}
