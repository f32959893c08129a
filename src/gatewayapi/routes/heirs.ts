// Summarises the effect of the policies of Gateways on their routes, for the status of those policies.

import type { Inherited } from '../policies/inheritance.js'
import type { RouteScope } from './route-scopes.js'

/** The effect of one policy of a Gateway on its routes. */
export interface Heirs {
  /** Number of HTTPRoutes on which a field of the policy is in force. */
  readonly inForce: number
  /** Number of HTTPRoutes on which a field of the policy is replaced. */
  readonly replaced: number
  /** Lists the replaced fields and the policies that replace them, for the first few routes. */
  readonly lines: readonly string[]
  /** Reasons why routes refuse because of the policy, or do not audit it, for the first few routes. */
  readonly faults: readonly string[]
}

/** Effects by key of the policy. */
export type HeirsOfAll = ReadonlyMap<string, Heirs>

export const NO_HEIRS: Heirs = { inForce: 0, replaced: 0, lines: [], faults: [] }

/** Maximum number of lines of each kind; further routes are only counted. */
export const MOST_NAMED = 10

export const heirsOf = (
  routes: readonly { readonly key: string; readonly scopes: readonly RouteScope[] }[],
): HeirsOfAll =>
  sumHeirs(routes.flatMap(({ key, scopes }) => scopes.map((scope) => heirsIn(key, scope))))

function heirsIn(route: string, { inherited, attachment }: RouteScope): HeirsOfAll {
  return new Map(
    inherited.map((one) => {
      const isUnfit =
        attachment.broken.includes(one.policy) || attachment.audit?.unfit.includes(one.policy)
      const sentence = isUnfit === true && attachment.conflicts.get(one.policy)
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
