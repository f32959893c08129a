// Resolves the endpoints of a target to allowed IP addresses (decision 30), pinned for one call.

import type { LookupAddress } from 'node:dns'
import type { Address, Endpoints } from '../../../model/destination.js'
import { type AddressRules, createAddressRules } from '../../addresses/address-rules.js'
import { GatehouseError } from '../../errors.js'
import { codeOf, RemoteError } from './remote-failure.js'

/** Resolves a name, like dns.promises.lookup with {all: true}. */
export type Lookup = (host: string) => Promise<readonly LookupAddress[]>

/** How a call resolves and checks its addresses. */
export interface Resolving {
  readonly lookup: Lookup
  /** Default: link-local and cloud metadata addresses are forbidden. */
  readonly addresses?: AddressRules
}

const DEFAULT_RULES = createAddressRules({ scope: 'metadata', own: new Set(), allowed: [] })

/**
 * Returns at least one address. Rejects with RemoteError: no-endpoints, unresolved, forbidden-address. An abort ends the
 * wait for a name, which itself cannot be stopped.
 */
export async function resolveEndpoints(
  endpoints: Endpoints,
  { lookup, addresses = DEFAULT_RULES }: Resolving,
  signal: AbortSignal,
): Promise<readonly Address[]> {
  const found = await addressesOf(endpoints, lookup, signal)
  const [first] = found
  if (first === undefined) throw new RemoteError({ type: 'no-endpoints' })
  // Checked after resolution, on the addresses actually used, because a name may resolve differently next time.
  const allowed = found.filter(({ ip, port }) => addresses.refusalOf(ip, port) === undefined)
  if (allowed.length === 0) {
    const host = endpoints.type === 'name' ? endpoints.host : first.ip
    const why = addresses.refusalOf(first.ip, first.port) ?? ''
    throw new RemoteError({
      type: 'forbidden-address',
      host,
      why: host === first.ip ? why : `${first.ip}, ${why}`,
    })
  }
  return allowed
}

async function addressesOf(
  endpoints: Endpoints,
  lookup: Lookup,
  signal: AbortSignal,
): Promise<readonly Address[]> {
  if (endpoints.type === 'addresses') return endpoints.addresses
  const { host, port } = endpoints
  try {
    const found = await unlessAborted(lookup(host.replace(/^\[(.*)\]$/, '$1')), signal)
    return found.map(({ address }) => ({ ip: address, port }))
  } catch (error) {
    throw new RemoteError({ type: 'unresolved', host, code: codeOf(error) })
  }
}

class NotResolved extends GatehouseError {
  readonly code = 'ETIMEDOUT'
}

const unlessAborted = <T>(work: Promise<T>, signal: AbortSignal): Promise<T> =>
  new Promise((resolve, reject) => {
    const onAbort = (): void => reject(new NotResolved())
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort)
    void work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
