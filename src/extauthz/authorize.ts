// The rules of an entry over one request (decision 4): any Deny refuses, every Require must be true, then any Allow.

import type { Attributes } from '../cel/attributes.js'
import type { Budget } from '../cel/budget.js'
import type { Rule } from '../cel/rule.js'

export type RuleFault = 'denied-by-rule' | 'rule-required' | 'no-rule-allows' | 'rule-budget'

export interface CompiledRules {
  readonly deny: readonly Rule[]
  readonly require: readonly Rule[]
  readonly allow: readonly Rule[]
  /** None reads anything of the request but its token. */
  readonly readTokenAlone: boolean
}

export interface RuleVerdict {
  /** Absent: the rules let it in. */
  readonly fault?: RuleFault
  /** The rule that spent the budget: its action and its place among the rules of that action, from 0. */
  readonly spentBy?: string
}

const LET_IN: RuleVerdict = {}

/**
 * A rule that cannot be evaluated refuses as Deny and is false as Require and Allow. The budget is that of all rules
 * together: what is behind the one that spends it is not evaluated, and the request is refused.
 */
export function judge(rules: CompiledRules, attributes: Attributes, budget: Budget): RuleVerdict {
  const verdict = (action: Action, index: number, fault: RuleFault): RuleVerdict =>
    budget.isSpent ? { fault: 'rule-budget', spentBy: `${action}[${index}]` } : { fault }
  const isTrue = (rule: Rule): boolean => {
    const result = rule.evaluate(attributes, budget)
    return result.ok && result.value
  }
  for (const [index, rule] of rules.deny.entries()) {
    const result = rule.evaluate(attributes, budget)
    if (!result.ok || result.value) return verdict('deny', index, 'denied-by-rule')
  }
  for (const [index, rule] of rules.require.entries())
    if (!isTrue(rule)) return verdict('require', index, 'rule-required')
  for (const [index, rule] of rules.allow.entries()) {
    if (isTrue(rule)) return LET_IN
    if (budget.isSpent) return verdict('allow', index, 'rule-budget')
  }
  return rules.allow.length > 0 ? { fault: 'no-rule-allows' } : LET_IN
}

type Action = 'deny' | 'require' | 'allow'
