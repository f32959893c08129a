// Judges one request by the rules of an entry (decision 4): no Deny may be true, every Require must be, and then
// one Allow, if there are any. The token's scopes are judged last: nobody should obtain more scopes only to be denied.

import type { Json, JsonObject } from '../../model/json.js'
import type { Attributes, McpAttributes } from '../cel/attributes.js'
import type { Budget } from '../cel/budget.js'
import type { Rule } from '../cel/rule.js'

/** Why rules deny a request. */
export type RuleFault =
  'denied-by-rule' | 'rule-required' | 'no-rule-allows' | 'rule-budget' | 'insufficient-scope'

/** The compiled rules of an entry. */
export interface CompiledRules {
  readonly deny: readonly Rule[]
  readonly require: readonly Rule[]
  readonly allow: readonly Rule[]
  readonly scopes: readonly CompiledScopes[]
  /** Whether no rule reads anything of the request but its token. */
  readonly readTokenAlone: boolean
  /** Whether a rule reads mcp.resource.uri. URIs must then be in their normal form. */
  readonly readResources: boolean
}

/** Scopes that a token must have, and for which requests. */
export interface CompiledScopes {
  readonly scopes: readonly string[]
  readonly impliedBy: readonly string[]
  /** Absent: for every request. */
  readonly when?: Rule
}

/** The place of a rule in its list. */
export interface RulePlace {
  readonly list: Action | 'requiredScopes'
  /** Counted from 0. */
  readonly index: number
}

/** The result of judging a request. */
export interface RuleVerdict {
  /** Absent: the rules allow the request. */
  readonly fault?: RuleFault
  /** The rule that denies it; absent: no single rule does. */
  readonly rule?: RulePlace
  /** The Allow rule that was true; absent: none was needed, or the request is denied. */
  readonly allowedBy?: RulePlace
  /** For MCP: the call that is denied; absent: no single one is. */
  readonly call?: McpAttributes
  /** The rule that spent the budget, as its list and its place there, counted from 0. */
  readonly spentBy?: string
  /** For insufficient-scope: all scopes that the request needs. */
  readonly needed?: readonly string[]
}

const LET_IN: RuleVerdict = {}
/** Verdicts by the index of the Allow rule: checks allocate none. */
const LET_IN_BY: RuleVerdict[] = []

const letInBy = (index: number): RuleVerdict =>
  (LET_IN_BY[index] ??= { allowedBy: { list: 'allow', index } })

/**
 * A rule that cannot be evaluated denies as Deny and is false as Require and Allow. All rules share the budget: rules
 * after the one that spends it are not evaluated, and the request is denied.
 */
export function judge(rules: CompiledRules, attributes: Attributes, budget: Budget): RuleVerdict {
  const verdict = (list: Action, index: number, fault: RuleFault): RuleVerdict =>
    budget.isSpent
      ? { fault: 'rule-budget', rule: { list, index }, spentBy: `${list}[${index}]` }
      : { fault, rule: { list, index } }
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
    if (isTrue(rule)) return letInBy(index)
    if (budget.isSpent) return verdict('allow', index, 'rule-budget')
  }
  return rules.allow.length > 0 ? { fault: 'no-rule-allows' } : LET_IN
}

type Action = 'deny' | 'require' | 'allow'

/** all: the attributes of each call of one request, whose scopes are required together. claims: those of its token. */
export function judgeScopes(
  entries: readonly CompiledScopes[],
  all: readonly Attributes[],
  claims: JsonObject | undefined,
  budget: Budget,
): RuleVerdict {
  if (entries.length === 0) return LET_IN
  const held = heldScopes(claims)
  const needed = new Set<string>()
  let lacking: RulePlace | undefined
  for (const [index, entry] of entries.entries()) {
    if (!all.some((attributes) => isAskedFor(entry, attributes, budget))) continue
    const rule: RulePlace = { list: 'requiredScopes', index }
    if (budget.isSpent) return { fault: 'rule-budget', rule, spentBy: `requiredScopes[${index}]` }
    for (const scope of entry.scopes) needed.add(scope)
    const isHeld = (scope: string): boolean => held.has(scope)
    if (!entry.scopes.every(isHeld) && !entry.impliedBy.some(isHeld)) lacking ??= rule
  }
  return lacking === undefined
    ? LET_IN
    : { fault: 'insufficient-scope', rule: lacking, needed: [...needed] }
}

/** Whether the entry applies. A rule that cannot be evaluated counts against the caller. */
function isAskedFor({ when }: CompiledScopes, attributes: Attributes, budget: Budget): boolean {
  if (when === undefined) return true
  const result = when.evaluate(attributes, budget)
  return !result.ok || result.value
}

/** Returns the scopes of a token. RFC 9068 section 2.2.3: scope, separated by blanks; scp is a list, or such a text. */
function heldScopes(claims: JsonObject | undefined): ReadonlySet<string> {
  return new Set([claims?.['scope'], claims?.['scp']].flatMap(scopesIn))
}

function scopesIn(claim: Json | undefined): readonly string[] {
  if (typeof claim === 'string') return claim.split(' ').filter((scope) => scope !== '')
  return Array.isArray(claim) ? claim.filter((scope) => typeof scope === 'string') : []
}
