// An authorization rule: a CEL expression that is true or false for a request (decision 4).

import { err, ok, type Result } from '../../kit/result.js'
import type { Work } from '../../kit/turns.js'
import type { Attributes } from './attributes.js'
import { Budget } from './budget.js'
import { compileExpression } from './compile.js'
import { HeldValues } from './held-values.js'
import { type CelProblem, celProblem } from './problem.js'
import type { Reads } from './reads.js'

/** A compiled rule. */
export interface Rule {
  readonly source: string
  readonly reads: Reads
  /**
   * Never throws. The error is a code for logs; the caller decides what it means for the request. budget: shared by all
   * rules of a request; by default the rule has its own.
   */
  evaluate(attributes: Attributes, budget?: Budget): Result<boolean, string>
}

/** Rules in use: the check of a policy and the tables compile a rule once, and so do policies of one template. */
const inUse = new HeldValues<Rule>()

/** Compiles a rule, which cannot use llmRequest: ext_authz sees no prompts. Equal sources share a rule. */
export function* compileRule(source: string): Work<Result<Rule, CelProblem>> {
  const known = inUse.get(source)
  if (known !== undefined) return ok(known)
  const compiled = yield* compileNew(source)
  if (compiled.ok) inUse.add(source, compiled.value)
  return compiled
}

function* compileNew(source: string): Work<Result<Rule, CelProblem>> {
  const compiled = yield* compileExpression(source, {
    llmRequest:
      'llmRequest is not available in authorization rules; expected jwt, request, source or mcp',
  })
  if (!compiled.ok) return compiled
  const { reads, type } = compiled.value
  if (type !== 'bool' && type !== 'dyn')
    return err(celProblem(source, `the expression gives ${type}; expected bool`))
  return ok({
    source,
    reads,
    evaluate: (attributes, budget = new Budget()) =>
      booleanOf(compiled.value.run(attributes, budget)),
  })
}

function booleanOf(result: Result<unknown, string>): Result<boolean, string> {
  if (!result.ok) return result
  return typeof result.value === 'boolean' ? ok(result.value) : err('not_bool')
}
