// Reports HTTPRoutes of a mesh whose backends get the cookies of a relay. Elsewhere Gatehouse removes them (decision 10k).

import type { ProxyPolicy } from '../policies/policies.js'
import { relayHost } from '../routes/relay-hosts.js'
import type { Context } from '../world/context.js'
import { keyIn } from '../world/world.js'

/** Returns the remark; none for a policy without a relay. uncheckedAt: as in Uses. */
export function cookieLines(
  { options }: Context,
  policy: ProxyPolicy,
  uncheckedAt: (host: string) => readonly string[],
): readonly string[] {
  const host = relayHost(policy)?.name
  if (options.mesh === undefined || host === undefined) return []
  const keys = uncheckedAt(host)
  // A status must not reveal names of other tenants.
  const own = keys.find((key) => key.startsWith(keyIn(policy.metadata.namespace, '')))
  const example = own === undefined ? '' : `, such as ${own}`
  return keys.length === 0
    ? []
    : [
        `Browsers send the cookies of the relay to HTTPRoutes of ${host} that no policy checks (${keys.length}${example}), and their backends get them: give these routes a policy with jwtAuthentication or authorization, or the relay a host of its own`,
      ]
}
