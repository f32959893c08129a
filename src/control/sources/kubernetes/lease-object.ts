// A Lease (coordination.k8s.io/v1) as an object: its paths, its members, and how long another holder is trusted.

import { isJsonObject, type JsonObject } from '../../../model/json.js'

/** How long a holder is trusted after its latest renewal, in seconds. */
export const LEASE_SECONDS = 15
/** Pause between two renewals, in milliseconds. */
export const RENEW_EVERY = 5_000
/** Pause between two looks at what others hold, in milliseconds. */
export const LOOK_EVERY = 2_000
/** Longest duration that another holder is believed, in seconds: nothing says that it is still there. */
const LONGEST_SECONDS = 60
/**
 * How long, in milliseconds, a holder counts on a Lease after a renewal: less than its duration, as another may hold
 * it after that.
 */
export const SURE_FOR = 10_000

/** Path of the Leases in a namespace. */
export const leasesPath = (namespace: string): string =>
  `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/leases`

/** Returns a member of an object as an object; empty: it has none. */
function objectIn(object: JsonObject | undefined, member: string): JsonObject {
  const found = object?.[member]
  return isJsonObject(found) ? found : {}
}

/** The spec of a Lease. */
export const leaseSpec = (lease: JsonObject | undefined): JsonObject => objectIn(lease, 'spec')

/** The metadata of a Lease. */
export const leaseMetadata = (lease: JsonObject | undefined): JsonObject =>
  objectIn(lease, 'metadata')

/** Returns a member of the spec as the text that it is in every Lease; '': it is missing. */
export function leaseText(
  lease: JsonObject | undefined,
  member: 'acquireTime' | 'renewTime',
): string {
  const text = leaseSpec(lease)[member]
  return typeof text === 'string' ? text : ''
}

/** The name of a Lease. */
export function leaseName(lease: JsonObject): string {
  const { name } = leaseMetadata(lease)
  return typeof name === 'string' ? name : ''
}

/** The duration that the holder of a Lease has promised to renew it within, in milliseconds: a minute at most. */
export function leaseDuration(lease: JsonObject): number {
  const { leaseDurationSeconds } = leaseSpec(lease)
  return typeof leaseDurationSeconds === 'number'
    ? Math.min(leaseDurationSeconds, LONGEST_SECONDS) * 1000
    : 0
}

/** Returns a time, by default the current one, as MicroTime (meta/v1). */
export const microTime = (at = new Date()): string => at.toISOString().replace(/Z$/, '000Z')

/** Returns whether a Lease was not renewed for its whole duration, measured by the local clock alone. */
export type IsLeaseExpired = (lease: JsonObject) => boolean

/** Creates a function that remembers when each version of a Lease was seen first. */
export function createLeaseExpiry(): IsLeaseExpired {
  const seen = new Map<unknown, { readonly version: unknown; readonly at: number }>()
  return (lease) => {
    const { name, resourceVersion: version } = leaseMetadata(lease)
    const last = seen.get(name)
    if (last?.version === version && last !== undefined)
      return performance.now() - last.at > leaseDuration(lease)
    seen.set(name, { version, at: performance.now() })
    return false
  }
}
