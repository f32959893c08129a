// Translates the rules of an HTTPRoute in all of its scopes. Those that make too much of Envoy's configuration refuse.

import { mapWork, type Work } from '../../turns.js'
import type { Context } from '../world/context.js'
import { boundOf } from './route-room.js'
import { translateRule } from './route-rules.js'
import type { RouteScope } from './route-scopes.js'
import {
  MOST_IN_ENVOY,
  rulesBeyond,
  sizesOfRules,
  sizeWithin,
  tooLargeProblem,
} from './route-sizes.js'
import type { ScopedRules } from './route-status.js'
import type { HttpRoute, RuleInput } from './rule-routes.js'

/** What the rules are translated with in a scope. */
export interface ScopedInputs {
  readonly scope: RouteScope
  readonly inputs: readonly RuleInput[]
}

interface SizedRules {
  readonly scoped: readonly ScopedRules[]
  /** Their size as long as the HTTPRoute has room. */
  readonly size: number
}

/** Translates all rules; again those that are too large, which then refuse. */
export function* translateRules(
  context: Context,
  route: HttpRoute,
  inputs: readonly ScopedInputs[],
): Work<SizedRules> {
  const scoped = yield* mapWork(inputs, function* ({ scope, inputs: of }) {
    return { scope, rules: yield* mapWork(of, (input) => translateRule(context, input)) }
  })
  const sizes = yield* sizesOfRules(route.spec, scoped)
  const size = sizeWithin(sizes, MOST_IN_ENVOY)
  const { most, within } = boundOf(context, route, size)
  const tooLarge = new Map(
    rulesBeyond(sizes, most).map((at) => [at, tooLargeProblem(sizes[at] ?? 0, within)]),
  )
  if (tooLarge.size === 0) return { scoped, size }
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
  return { scoped: refusing, size }
}
