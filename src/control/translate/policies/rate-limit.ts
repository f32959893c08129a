// Translates traffic.rateLimit into the limits that Envoy counts and the keys that ext_authz computes for them.

import type { Limits } from '../../../model/route.js'
import type { LimitKey } from '../../../model/transformation.js'
import type { ProxyPolicySpec } from '../../schema/kinds/proxy-policy.js'
import type { CheckedValues } from './checked-values.js'

type RateLimitSpec = NonNullable<NonNullable<ProxyPolicySpec['traffic']>['rateLimit']>

/** A translated traffic.rateLimit. */
export interface RateLimit {
  readonly local: Limits['local']
  readonly keys: readonly LimitKey[]
}

/** Translates traffic.rateLimit. */
export const translateRateLimit = ({ local }: RateLimitSpec): RateLimit => ({
  local: local.map(({ requests, per, burst = requests, key }) => ({
    requests,
    perMs: per,
    burst,
    isKeyed: key !== undefined,
  })),
  keys: local.flatMap(({ key: expression }, index) =>
    expression === undefined ? [] : [{ index, expression }],
  ),
})

/** Returns why keys of traffic.rateLimit do not compile. */
export const rateLimitProblems = (
  { local }: RateLimitSpec,
  { ofRequests }: CheckedValues,
): readonly string[] =>
  local.flatMap(({ key = '' }, index) => {
    const problem = ofRequests.get(key)
    return problem === undefined ? [] : [`rateLimit.local[${index}].key: ${problem}`]
  })
