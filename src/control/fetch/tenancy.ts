// Names what belongs to Gatehouse in a cluster and is therefore no destination for backends of other namespaces, and
// limits where Gatehouse's own calls may go.

import { networkInterfaces } from 'node:os'
import {
  type AddressRules,
  type AllowedAddress,
  createAddressRules,
} from '../../kit/addresses/address-rules.js'
import { memo } from '../../kit/incremental/memo.js'
import type { Environment, Settings } from '../../ops/settings/settings.js'
import type { Tenancy } from '../translate/world/context.js'

/** Default name of a release, which its Service and its Lease share. */
export const DEFAULT_RELEASE = 'gatehouse'

/** Returns undefined without --kubernetes: the resources are the user's own files, and namespaces trust each other. */
export function tenancyOf({
  kubernetes,
  environment,
  allowAddress,
}: Settings): Tenancy | undefined {
  if (!kubernetes) return undefined
  return {
    ownAddresses: podAddresses(environment),
    ownService: {
      namespace: environment['POD_NAMESPACE'] || 'default',
      name: environment['LEASE_NAME'] || DEFAULT_RELEASE,
    },
    allowed: allowAddress,
  }
}

/** Addresses of the pod, from the downward API and from its network interfaces; outside a pod only from the former. */
function podAddresses(environment: Environment): readonly string[] {
  const told = `${environment['POD_IPS'] ?? ''},${environment['POD_IP'] ?? ''}`
  const isPod = environment['KUBERNETES_SERVICE_HOST'] !== undefined
  const found = isPod ? Object.values(networkInterfaces()).flatMap((each) => each ?? []) : []
  return [...told.split(','), ...found.map(({ address }) => address)]
    .map((address) => address.trim())
    .filter((address) => address !== '')
}

/** Rules for Gatehouse's own calls. ownService: the current addresses of Gatehouse's Service. */
export const callRules = (
  tenancy: Tenancy | undefined,
  allowed: readonly AllowedAddress[],
  ownService: () => readonly string[],
): AddressRules =>
  tenancy === undefined
    ? createAddressRules({ scope: 'metadata', own: new Set(), allowed })
    : rulesBeside('host', tenancy.ownAddresses, allowed, ownService)

/** Rules for calls to addresses that clients name: only the internet. */
export const publicRules = (
  tenancy: Tenancy | undefined,
  allowed: readonly AllowedAddress[],
  ownService: () => readonly string[],
): AddressRules => rulesBeside('public', tenancy?.ownAddresses ?? [], allowed, ownService)

function rulesBeside(
  scope: 'host' | 'public',
  own: readonly string[],
  allowed: readonly AllowedAddress[],
  ownService: () => readonly string[],
): AddressRules {
  const rulesWith = memo((more: readonly string[]) =>
    createAddressRules({ scope, own: new Set([...own, ...more]), allowed }),
  )
  return { refusalOf: (ip, port) => rulesWith(ownService()).refusalOf(ip, port) }
}
