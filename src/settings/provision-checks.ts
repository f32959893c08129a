// Checks of the flags for the Envoys that Gatehouse creates that involve more than one of them.

import type { FlagValues } from './flags.js'

/** Returns what is wrong with the flags of serve. */
export function provisionChecks({
  provision,
  kubernetes,
  for: mesh,
  connect,
  grpcTlsCert,
}: FlagValues): readonly string[] {
  if (!provision) return []
  if (!kubernetes) return ['--provision belongs to --kubernetes']
  if (mesh !== undefined)
    return ['--provision creates Envoys for the Gateways of Gatehouse, and --for has it serve none']
  if (connect?.type !== 'tcp')
    return ['--provision needs --connect; expected HOST:PORT, where the Envoys reach Gatehouse']
  if (grpcTlsCert !== undefined)
    return ['--provision does not support --grpc-tls-cert: its Envoys have no certificate']
  return []
}
