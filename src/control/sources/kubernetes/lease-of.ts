// Reads from the environment which Lease the replicas share, and who this one is.

import { hash, randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Settings } from '../../../ops/settings/settings.js'
import type { ClaimScope } from './claim-order.js'

/** Default name of the Lease. Replicas that share it take turns; the chart names it after the release. */
const DEFAULT_LEASE = 'gatehouse'

/**
 * Returns the Lease whose holder writes status, and who this one is: the release's own, or the one that releases share.
 * Pods of two releases may have one name.
 */
export function statusLeaseOf({ environment, statusLease }: Settings) {
  const own = leaseOf(environment)
  return statusLease === undefined
    ? own
    : { ...statusLease, identity: `${own.namespace}/${own.identity}` }
}

/** Returns what the release reads, and so which statuses it writes if no other one does. */
export const claimScopeOf = (settings: Settings): ClaimScope => ({
  apiGroup: settings.apiGroup,
  mode: settings.for ?? 'plain',
  namespaces: settings.namespace,
  provisions: settings.provision,
})

/** Returns where the Lease is that replicas share, and who this one is. An empty variable counts as absent. */
export const leaseOf = (environment: Settings['environment']) => ({
  namespace: environment['POD_NAMESPACE'] || 'default',
  name: environment['LEASE_NAME'] || DEFAULT_LEASE,
  identity: leaseIdentity(environment),
})

/**
 * Name of this process in the Lease: the pod's name, with which a restarted container resumes immediately,
 * else a name that no other process on the host has.
 */
export const leaseIdentity = (environment: Settings['environment']): string =>
  environment['POD_NAME'] || `${hostname()}_${randomUUID()}`

/**
 * Returns the value of the label of what Gatehouse creates: the name of the Lease, which replicas share. A label may have
 * 63 characters.
 */
export function releaseLabel({ environment }: Settings): string {
  const { namespace, name } = leaseOf(environment)
  const text = `${namespace}.${name}`
  return text.length <= 63 ? text : `${text.slice(0, 46)}-${hash('sha256', text).slice(0, 16)}`
}
