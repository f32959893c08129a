// Translates the timeouts and retries of a rule (Gateway API, HTTPRouteTimeouts and HTTPRouteRetry).

import type { ForwardAction, Timeouts } from '../../ir/route.js'
import type { HttpRouteRule } from '../../resources/kinds/http-route.js'

/** Returns the number of attempts after the first; the Gateway API leaves the default to implementations. */
const attemptsOf = ({ retry }: HttpRouteRule): number =>
  retry === undefined ? 0 : (retry.attempts ?? 1)

/** Returns the retries of a rule, if it has any. */
export const retryOf = (rule: HttpRouteRule): Pick<ForwardAction, 'retry'> =>
  rule.retry === undefined || attemptsOf(rule) === 0
    ? {}
    : {
        retry: {
          ...{ codes: [...new Set(rule.retry.codes)], attempts: attemptsOf(rule) },
          ...(rule.retry.backoff === undefined ? {} : { backoffMs: rule.retry.backoff }),
        },
      }

/**
 * Returns the timeouts (decisions 13b and 21). MCP routes (endless streams) and guarded routes (which wait for
 * webhooks) have none unless the route or a policy sets one.
 */
export function timeoutsOf(
  rule: HttpRouteRule,
  policyMs: number | undefined,
  isEndless: boolean,
): Timeouts {
  const { timeouts } = rule
  // Without a limit on the whole request, Envoy's default of 15 s would cut a longer backend timeout short. With
  // retries each try has its own limit.
  const ofBackend =
    attemptsOf(rule) > 0 && timeouts.backendRequest !== undefined ? 0 : timeouts.backendRequest
  const whole = timeouts.request ?? ofBackend ?? (isEndless ? 0 : undefined)
  const requestMs = shorter(whole, policyMs)
  return {
    ...(requestMs === undefined ? {} : { requestMs }),
    ...(timeouts.backendRequest === undefined ? {} : { backendRequestMs: timeouts.backendRequest }),
    ...(isEndless ? { idleMs: 0 } : {}),
  }
}

/** Returns the shorter timeout; a `whole` of 0 means no limit. */
const shorter = (whole: number | undefined, policyMs: number | undefined): number | undefined =>
  policyMs === undefined || (whole !== undefined && whole > 0 && whole < policyMs)
    ? whole
    : policyMs
