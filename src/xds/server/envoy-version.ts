// Reads the version that an Envoy reports when it connects.

import type { Node } from '../../grpc/generated/envoy/config/core/v3/base_pb.js'

/** Returns the version, MAJOR.MINOR.PATCH, as a field; no field for a client that does not report it. */
export function envoyVersionOf({ userAgentVersionType: agent }: Node): {
  readonly envoyVersion?: string
} {
  const version = agent.case === 'userAgentBuildVersion' ? agent.value.version : undefined
  if (version === undefined) return {}
  const { majorNumber, minorNumber, patch } = version
  return { envoyVersion: `${majorNumber}.${minorNumber}.${patch}` }
}
