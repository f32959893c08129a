// Where a call connects: the endpoints of a target → IP addresses that may be called (decision 30), pinned for this call.

import type { LookupAddress } from 'node:dns'
import type { Address, Endpoints } from '../ir/destination.js'
import { isForbiddenAddress } from './forbidden-address.js'
import { codeOf, RemoteError } from './remote-failure.js'

/** dns.promises.lookup with {all: true}. */
export type Lookup = (host: string) => Promise<readonly LookupAddress[]>

/** At least one. Rejects with RemoteError: no-endpoints, unresolved, forbidden-address. */
export const resolveEndpoints = async (
  endpoints: Endpoints,
  lookup: Lookup,
): Promise<readonly Address[]> => {
  const found = await addressesOf(endpoints, lookup)
  const [first] = found
  if (first === undefined) throw new RemoteError({ type: 'no-endpoints' })
  // After resolution, and on the very addresses that are connected to: a name may resolve otherwise next time.
  const allowed = found.filter(({ ip }) => !isForbiddenAddress(ip))
  if (allowed.length === 0) {
    const host = endpoints.type === 'name' ? endpoints.host : first.ip
    throw new RemoteError({ type: 'forbidden-address', host })
  }
  return allowed
}

const addressesOf = async (endpoints: Endpoints, lookup: Lookup): Promise<readonly Address[]> => {
  if (endpoints.type === 'addresses') return endpoints.addresses
  const host = endpoints.host.replace(/^\[(.*)\]$/, '$1')
  try {
    const found = await lookup(host)
    return found.map(({ address }) => ({ ip: address, port: endpoints.port }))
  } catch (error) {
    throw new RemoteError({ type: 'unresolved', host: endpoints.host, code: codeOf(error) })
  }
}
