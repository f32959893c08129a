// Checks of the addresses of the servers, which involve more than one flag.

import type { FlagValues } from './flags.js'
import { formatAddress, isLoopback, type ServerAddress } from './values.js'

type AddressValues = Pick<FlagValues, 'grpc' | 'admin' | 'status' | 'kubernetes' | 'adminTokenFile'>

/** Returns a sentence for each mistake. givesGrpc: whether --grpc is given. */
export function addressChecks(values: AddressValues, givesGrpc: boolean): readonly string[] {
  const { grpc, admin } = values
  const sentences = statusAddress(values)
  if (!givesGrpc || !collide(grpc, admin)) return sentences
  const text = formatAddress(grpc)
  return [`--grpc and --admin are both ${text}; expected two different addresses`, ...sentences]
}

/** Whether the two addresses are the same; with port 0 each server gets a port of its own. */
const collide = (one: ServerAddress, other: ServerAddress): boolean =>
  one.type === 'unix'
    ? other.type === 'unix' && one.path === other.path
    : other.type === 'tcp' && one.port !== 0 && one.port === other.port && one.host === other.host

function statusAddress(values: AddressValues): readonly string[] {
  const { kubernetes, status, admin, adminTokenFile } = values
  if (status === undefined) return []
  const sentences: string[] = []
  const text = formatAddress(status)
  if (collide(status, admin))
    sentences.push(`--status and --admin are both ${text}; expected two different addresses`)
  if (kubernetes && adminTokenFile === undefined)
    sentences.push('--status with --kubernetes needs --admin-token-file')
  if (kubernetes && status.type === 'tcp' && !isLoopback(status))
    sentences.push(`--status ${text}: expected an address on loopback with --kubernetes`)
  return sentences
}
