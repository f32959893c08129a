// What becomes of the policies of Gateways on their routes, for the status of those policies.

import type { Inherited } from '../policies/inheritance.js'
import type { RouteScope } from './route-scopes.js'

/** Of one policy of a Gateway. */
export interface Heirs {
  /** On how many HTTPRoutes a field of it is in force. */
  readonly inForce: number
  /** On how many HTTPRoutes a field of it is replaced. */
  readonly replaced: number
  /** Which fields are, and by what: of the first few. */
  readonly lines: readonly string[]
  /** Of routes that refuse because of it: of the first few. */
  readonly faults: readonly string[]
}

/** By the key of the policy. */
export type HeirsOfAll = ReadonlyMap<string, Heirs>

export const NO_HEIRS: Heirs = { inForce: 0, replaced: 0, lines: [], faults: [] }

/** More of a kind are counted, not named. */
export const MOST_NAMED = 10

export const heirsOf = (
  routes: readonly { readonly key: string; readonly scopes: readonly RouteScope[] }[],
): HeirsOfAll =>
  sumHeirs(routes.flatMap(({ key, scopes }) => scopes.map((scope) => heirsIn(key, scope))))

function heirsIn(route: string, { inherited, attachment }: RouteScope): HeirsOfAll {
  return new Map(
    inherited.map((one) => {
      const sentence =
        attachment.broken.includes(one.policy) && attachment.conflicts.get(one.policy)
      const isFault = one.isValid && typeof sentence === 'string'
      return [
        one.policy,
        {
          inForce: one.inForce.length > 0 ? 1 : 0,
          replaced: one.replaced.length > 0 ? 1 : 0,
          lines:
            one.replaced.length > 0 ? [`Replaced: ${replacedText(one)} on HTTPRoute ${route}`] : [],
          faults: isFault ? [`HTTPRoute ${route}: ${sentence}`] : [],
        },
      ]
    }),
  )
}

const replacedText = ({ replaced }: Inherited): string =>
  replaced.map(({ field, by }) => `${field} by ProxyPolicy ${by}`).join(', ')

export function sumHeirs(parts: readonly HeirsOfAll[]): HeirsOfAll {
  const sums = new Map<string, Heirs>()
  for (const [policy, one] of parts.flatMap((part) => [...part])) {
    const sum = sums.get(policy) ?? NO_HEIRS
    sums.set(policy, {
      inForce: sum.inForce + one.inForce,
      replaced: sum.replaced + one.replaced,
      lines: firstOf(sum.lines, one.lines),
      faults: firstOf(sum.faults, one.faults),
    })
  }
  return sums
}

const firstOf = (before: readonly string[], more: readonly string[]): readonly string[] =>
  before.length >= MOST_NAMED ? before : [...new Set([...before, ...more])].slice(0, MOST_NAMED)
