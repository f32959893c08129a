// The rules of an entry over one request (decision 4): any Deny refuses, every Require must be true, then any Allow.

import type { Attributes } from '../cel/attributes.js'
import type { Rule } from '../cel/rule.js'
import type { CompiledRules } from './authz-table.js'

export type RuleFault = 'denied-by-rule' | 'rule-required' | 'no-rule-allows'

/** undefined: the rules let it in. A rule that cannot be evaluated refuses as Deny and is false as Require and Allow. */
export function ruleFault(rules: CompiledRules, attributes: Attributes): RuleFault | undefined {
  const isTrue = (rule: Rule): boolean => {
    const result = rule.evaluate(attributes)
    return result.ok && result.value
  }
  const refuses = (rule: Rule): boolean => {
    const result = rule.evaluate(attributes)
    return !result.ok || result.value
  }
  if (rules.deny.some(refuses)) return 'denied-by-rule'
  if (!rules.require.every(isTrue)) return 'rule-required'
  return rules.allow.length > 0 && !rules.allow.some(isTrue) ? 'no-rule-allows' : undefined
}
