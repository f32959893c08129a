// Provides the rules for backend addresses in a cluster (src/kit/addresses), with the current addresses of Gatehouse's own
// Service (decision 30a).

import {
  type Concern,
  createAddressRules,
  type SplitAddressRules,
} from '../../../kit/addresses/address-rules.js'
import { briefMemoWork } from '../../../kit/incremental/memo.js'
import type { Work } from '../../../kit/turns.js'
import { type Context, query, type Tenancy } from '../world/context.js'
import { keyIn } from '../world/world.js'

/** The rules, and what they hold against addresses. */
export interface AddressChecks {
  readonly rules: SplitAddressRules
  /** Returns the addresses of a list that the rules forbid, unless the operator permits them; memoised. */
  readonly concernsIn: (addresses: readonly Listed[]) => Work<ReadonlyMap<string, Concern>>
}

interface Listed {
  readonly ip: string
}

/** Returns undefined if no address is forbidden, as with files. */
export function checksOfAddresses(context: Context): AddressChecks | undefined {
  const { tenancy } = context.options
  return tenancy === undefined
    ? undefined
    : query(context, 'address-rules', '', (own) =>
        checksBy(
          createAddressRules({
            scope: 'host',
            own: new Set([...tenancy.ownAddresses, ...serviceAddresses(own, tenancy)]),
            allowed: tenancy.allowed,
          }),
        ),
      )
}

/** Addresses that are checked between two yields. */
const RUN = 64

const checksBy = (rules: SplitAddressRules): AddressChecks => ({
  rules,
  concernsIn: briefMemoWork(function* (addresses: readonly Listed[]) {
    const concerns = new Map<string, Concern>()
    for (const [index, { ip }] of addresses.entries()) {
      const concern = rules.concernOf(ip)
      if (concern !== undefined) concerns.set(ip, concern)
      if (index % RUN === RUN - 1) yield
    }
    yield
    return concerns
  }),
})

/** Returns the addresses of Gatehouse's own Service: its cluster IP and those of every replica. */
export function ownServiceAddresses(context: Context): readonly string[] {
  const { tenancy } = context.options
  return tenancy === undefined
    ? NONE
    : query(context, 'own-service', '', (own) => serviceAddresses(own, tenancy))
}

const NONE: readonly string[] = []

/** Returns the DNS name of Gatehouse's own Service, resolved where the Service itself cannot be read. */
export const ownServiceHost = ({ options }: Context, { ownService }: Tenancy): string =>
  `${ownService.name}.${ownService.namespace}.svc.${options.clusterDomain}`

function serviceAddresses(context: Context, tenancy: Tenancy): readonly string[] {
  const { reader } = context
  const key = keyIn(tenancy.ownService.namespace, tenancy.ownService.name)
  const service = reader.read('services', key)
  const slices = reader.read('endpointSlices', key) ?? []
  const named = reader.read('names', ownServiceHost(context, tenancy))
  return [
    ...(service?.spec.clusterIP === undefined ? [] : [service.spec.clusterIP]),
    ...slices.flatMap(({ spec }) => spec.endpoints.flatMap(({ addresses }) => addresses)),
    ...(named?.ips ?? []),
  ]
}
