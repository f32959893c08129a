// Checks of the flags for the Envoys that Gatehouse creates that involve more than one of them.

import type { FlagValues } from './flags.js'

/** Returns what is wrong with the flags of serve. */
export function provisionChecks({
  provision,
  kubernetes,
  for: mesh,
  connect,
  grpcTlsCert,
  connectTls,
  connectCa,
}: FlagValues): readonly string[] {
  if (!provision) return connectCa === undefined ? [] : ['--connect-ca belongs to --provision']
  if (!kubernetes) return ['--provision belongs to --kubernetes']
  if (mesh !== undefined)
    return ['--provision creates Envoys for the Gateways of Gatehouse, and --for has it serve none']
  if (connect?.type !== 'tcp')
    return ['--provision needs --connect; expected HOST:PORT, where the Envoys reach Gatehouse']
  const tls = [grpcTlsCert, connectTls, connectCa]
  if (tls.every((each) => each === undefined)) return []
  if (tls.includes(undefined))
    return [
      '--provision with TLS needs --grpc-tls-cert and --grpc-tls-key of Gatehouse, and --connect-tls and --connect-ca for its Envoys; expected all or none',
    ]
  return []
}
