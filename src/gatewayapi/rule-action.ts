// What a rule of an HTTPRoute does with a request: forward, redirect, or refuse (fail closed).

import type { RefuseAction, RouteAction, Timeouts } from '../ir/route.js'
import type { HttpRouteRule } from '../resources/http-route.js'
import type { Filters } from './filters.js'
import type { RouteBackends } from './route-backends.js'
import type { RuleInput } from './rule-input.js'

/** problems: of what the HTTPRoute says of the rule. undefined: nothing refuses it. */
export function refusalOf(
  { refusals }: RuleInput,
  problems: readonly string[],
): RefuseAction | undefined {
  if (refusals.length > 0) return refuse('The policy of this route is not valid.')
  return problems.length > 0 ? refuse('This route is not valid.') : undefined
}

const refuse = (body: string): RefuseAction => ({ type: 'refuse', status: 500, body })

/** Of a rule that nothing refuses. */
export function actionOf(
  { rule, attachment, webhooks }: RuleInput,
  filters: Filters,
  backends: RouteBackends,
): RouteAction {
  if (filters.redirect !== undefined) return filters.redirect
  if (backends.weighted.every(({ weight }) => weight === 0))
    return refuse('This route has no backend.')
  const isMcp = attachment.jwt?.jwt?.mcp !== undefined
  const isGuarded = webhooks !== undefined
  return {
    type: 'forward',
    destinations: backends.weighted,
    ...(filters.rewrite === undefined ? {} : { rewrite: filters.rewrite }),
    timeouts: timeoutsOf(rule, backends.requestTimeoutMs, isMcp || isGuarded),
    replaceBackendCors: isMcp && filters.cors !== undefined,
    allowUpgrades:
      attachment.jwt === undefined && attachment.authorization === undefined && !isGuarded,
  }
}

/** Decisions 13b and 21: an MCP route streams without end, and a guarded one waits for its webhooks, unless somebody says how long it may take. */
function timeoutsOf(
  { timeouts }: HttpRouteRule,
  policyMs: number | undefined,
  isEndless: boolean,
): Timeouts {
  // Without an own limit on the whole, Envoy's default of 15 s would cut a longer one on the backend short.
  const whole = timeouts.request ?? timeouts.backendRequest ?? (isEndless ? 0 : undefined)
  const requestMs = shorter(whole, policyMs)
  return {
    ...(requestMs === undefined ? {} : { requestMs }),
    ...(timeouts.backendRequest === undefined ? {} : { backendRequestMs: timeouts.backendRequest }),
    ...(isEndless ? { idleMs: 0 } : {}),
  }
}

/** 0 is no limit at all. */
const shorter = (whole: number | undefined, policyMs: number | undefined): number | undefined =>
  policyMs === undefined || (whole !== undefined && whole > 0 && whole < policyMs)
    ? whole
    : policyMs
