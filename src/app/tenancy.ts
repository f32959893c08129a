// What belongs to Gatehouse in a cluster, and so is not for the backends of its namespaces; and where our own calls may go.

import { networkInterfaces } from 'node:os'
import {
  type AddressRules,
  type AllowedAddress,
  createAddressRules,
} from '../addresses/address-rules.js'
import type { Tenancy } from '../gatewayapi/world/context.js'
import { memo } from '../incremental/memo.js'
import type { Environment, Settings } from '../settings.js'

/** The Service and the Lease of a release have its name. */
export const DEFAULT_RELEASE = 'gatehouse'

/** undefined: the resources are the user's own files, and no namespace is a stranger to another. */
export function tenancyOf({
  kubernetes,
  environment,
  allowAddress,
}: Settings): Tenancy | undefined {
  if (!kubernetes) return undefined
  return {
    ownAddresses: podAddresses(environment),
    ownService: {
      namespace: environment['POD_NAMESPACE'] ?? 'default',
      name: environment['LEASE_NAME'] ?? DEFAULT_RELEASE,
    },
    allowed: allowAddress,
  }
}

/** As the downward API tells them, else as the system does; none outside of a pod, whose machine is somebody's own. */
function podAddresses(environment: Environment): readonly string[] {
  const told = `${environment['POD_IPS'] ?? ''},${environment['POD_IP'] ?? ''}`
  const isPod = environment['KUBERNETES_SERVICE_HOST'] !== undefined
  const found = isPod ? Object.values(networkInterfaces()).flatMap((each) => each ?? []) : []
  return [...told.split(','), ...found.map(({ address }) => address)]
    .map((address) => address.trim())
    .filter((address) => address !== '')
}

/** Rules for our own calls. ownService: the addresses of Gatehouse's Service, as they are now. */
export const callRules = (
  tenancy: Tenancy | undefined,
  allowed: readonly AllowedAddress[],
  ownService: () => readonly string[],
): AddressRules =>
  tenancy === undefined
    ? createAddressRules({ scope: 'metadata', own: new Set(), allowed })
    : rulesBeside('host', tenancy.ownAddresses, allowed, ownService)

/** Rules for what clients make us call: nothing but the internet. */
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
