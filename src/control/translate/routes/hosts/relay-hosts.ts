// Finds the hosts for which browsers hold cookies of a relay: those of every policy that asks for one, also if it is refused.

import type { Attachment } from '../../policies/attachments.js'
import type { ProxyPolicy } from '../../policies/policies.js'
import type { Placement } from '../route-parents.js'
import type { RouteScope } from '../route-scopes.js'

/** The host of a relay. */
export interface RelayHost {
  /** Host name of the resource; absent: the policy has none that is a URL. */
  readonly name?: string
}

/** Where a route with a relay is placed. */
export interface PlacedRelay extends RelayHost {
  /** Namespace of its policy, and of its route. */
  readonly namespace: string
  readonly placements: readonly Placement[]
}

/** Returns undefined if the policy does not ask for a relay. */
export function relayHost({ spec }: ProxyPolicy): RelayHost | undefined {
  const mcp = spec.traffic?.jwtAuthentication?.mcp
  if (mcp?.authorizationServer !== 'Relay') return undefined
  const resource = mcp.resourceMetadata?.resource
  return resource === undefined || !URL.canParse(resource)
    ? {}
    : { name: new URL(resource).hostname }
}

/** Returns the relays of a route's scopes, each with all of its places. */
export function relaysOf(scopes: readonly RouteScope[]): readonly PlacedRelay[] {
  const placed = new Map<ProxyPolicy, readonly Placement[]>()
  for (const { attachment, placements } of scopes)
    for (const policy of policiesOf(attachment))
      if (relayHost(policy) !== undefined)
        placed.set(policy, [...(placed.get(policy) ?? []), ...placements])
  return [...placed].map(([policy, placements]) => ({
    ...relayHost(policy),
    namespace: policy.metadata.namespace,
    placements,
  }))
}

const policiesOf = ({ policies, audit }: Attachment): readonly ProxyPolicy[] =>
  [...policies, ...(audit?.policies ?? [])].map(({ policy }) => policy)
