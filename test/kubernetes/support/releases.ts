// Releases of Gatehouse, as others know of them.

import type { ApiServer } from '../../../testing/api-server.js'

/**
 * Removes what releases that have ended leave for a while, so that the next release, which has another name, is the only one
 * and need not find out for ten seconds whether they go on.
 */
export async function forgetReleases(api: ApiServer): Promise<void> {
  const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases'
  await api.call('DELETE', `${leases}?labelSelector=policy.gatehouse.dev/writes=statuses`)
}
