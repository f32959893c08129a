// Translates the rules of an HTTPRoute in all of its scopes. Those that make too much of Envoy's configuration refuse.

import { mapWork, type Work } from '../../turns.js'
import type { Context } from '../world/context.js'
import { translateRule } from './route-rules.js'
import type { RouteScope } from './route-scopes.js'
import {
  MEGABYTE,
  MOST_IN_ENVOY,
  rulesBeyond,
  sizesOfRules,
  tooLargeProblem,
} from './route-sizes.js'
import type { ScopedRules } from './route-status.js'
import type { HttpRoute, RuleInput } from './rule-routes.js'

/** What the rules are translated with in a scope. */
export interface ScopedInputs {
  readonly scope: RouteScope
  readonly inputs: readonly RuleInput[]
}

/** Translates all rules; again those that are too large, which then refuse. */
export function* translateRules(
  context: Context,
  route: HttpRoute,
  inputs: readonly ScopedInputs[],
): Work<readonly ScopedRules[]> {
  const scoped = yield* mapWork(inputs, function* ({ scope, inputs: of }) {
    return { scope, rules: yield* mapWork(of, (input) => translateRule(context, input)) }
  })
  const sizes = yield* sizesOfRules(route.spec, scoped)
  const within = `the HTTPRoute may make ${String(MOST_IN_ENVOY / MEGABYTE)}`
  const tooLarge = new Map(
    rulesBeyond(sizes, MOST_IN_ENVOY).map((at) => [at, tooLargeProblem(sizes[at] ?? 0, within)]),
  )
  if (tooLarge.size === 0) return scoped
  const refusing = yield* mapWork(scoped.entries(), function* ([index, { scope, rules }]) {
    const of = inputs[index]?.inputs ?? []
    return {
      scope,
      rules: yield* mapWork(rules.entries(), function* ([at, rule]) {
        const [problem, input] = [tooLarge.get(at), of[at]]
        return problem === undefined || input === undefined
          ? rule
          : yield* translateRule(context, { ...input, tooLarge: problem })
      }),
    }
  })
  return refusing
}
