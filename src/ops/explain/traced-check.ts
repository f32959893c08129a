// Runs a check of one request with the code of the ext_authz server, and records each step. The entry is compiled anew:
// no token is remembered, and no memory of the server is read.

import { buildAuthzTable, type CompiledEntry } from '../../extauthz/authz-table.js'
import { createBodyLine } from '../../extauthz/body-line.js'
import type { Attributes } from '../../extauthz/cel/attributes.js'
import type { BudgetLimits } from '../../extauthz/cel/budget.js'
import { CostlyExpressions } from '../../extauthz/cel/costly-expressions.js'
import type { Rule } from '../../extauthz/cel/rule.js'
import type { CheckContext } from '../../extauthz/check-context.js'
import { openCheckRequest } from '../../extauthz/check-request.js'
import { decide } from '../../extauthz/decide.js'
import type { Decision } from '../../extauthz/decision.js'
import type { CompiledRules, RulePlace } from '../../extauthz/rules/judge.js'
import { type FreshKeysOptions, KeyLookUps } from '../../extauthz/token/fresh-keys.js'
import { createLogLimit } from '../../kit/log-limit.js'
import type { Logger } from '../../kit/logger.js'
import type { AuthzEntry } from '../../model/authz-entry.js'
import { type CheckStep, recordedLookUps, recordedSteps } from './recorded-steps.js'

/** The evaluation of one rule, or of the condition of required scopes. */
export interface RuleStep {
  readonly step: 'rule'
  readonly place: RulePlace
  readonly rule: Pick<Rule, 'source' | 'reads'>
  /** A text: the code of the error that stopped the evaluation. */
  readonly result: boolean | string
  readonly attributes: Attributes
}

/** A step of a check, rules included. */
export type TracedStep = CheckStep | RuleStep

/** A decision and the steps that led to it. */
export interface TracedDecision {
  readonly decision: Decision
  readonly steps: readonly TracedStep[]
}

/** A check, and the audit of an allowed request; absent: no policy of mode Audit concerns it. */
export interface TracedCheck extends TracedDecision {
  readonly audit?: TracedDecision
}

/** The dependencies of a traced check. */
export interface TracedCheckDeps extends FreshKeysOptions {
  /** The entry as it is now, which may be newer than the one that the check began with. */
  readonly entry: (key: string) => AuthzEntry | undefined
  /** Budget of the rules; absent: the default. */
  readonly ruleBudget?: BudgetLimits | undefined
  /** Set for a check of the headers alone. */
  readonly isHead?: true
}

const nothing = (): void => undefined
/** A check that is explained leaves no line in the log. */
const SILENT: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing }

/** bytes: a CheckRequest. */
export async function tracedCheck(
  bytes: Buffer,
  entry: AuthzEntry,
  deps: TracedCheckDeps,
): Promise<TracedCheck> {
  const own = compiled(entry)
  const made = await tracedDecision(bytes, own, deps, false)
  if (own.audit === undefined || made.decision.type === 'reply') return made
  return { ...made, audit: await tracedDecision(bytes, own.audit, deps, true) }
}

async function tracedDecision(
  bytes: Buffer,
  entry: CompiledEntry,
  deps: TracedCheckDeps,
  isAudit: boolean,
): Promise<TracedDecision> {
  const steps: TracedStep[] = []
  const record = (step: TracedStep): void => {
    steps.push(step)
  }
  const options: CheckContext['options'] = {
    ...deps,
    table: () => ({ get: (key) => compiled(deps.entry(key)) }),
    logger: SILENT,
    metrics: { observe: nothing, audited: nothing },
    ...(deps.ruleBudget && { ruleBudget: deps.ruleBudget }),
  }
  const context: CheckContext = {
    options,
    limit: createLogLimit(deps.now),
    lookUps: recordedLookUps(new KeyLookUps(options), record),
    bodies: createBodyLine(),
    costly: new CostlyExpressions(),
    isAudit,
    steps: recordedSteps(record),
    ...(deps.isHead && { isHead: deps.isHead }),
  }
  const call = { isCancelled: () => false, deadline: Infinity }
  const decision = await decide(context, openCheckRequest(bytes), traced(entry, record), call)
  return { decision, steps }
}

function compiled(entry: AuthzEntry): CompiledEntry
function compiled(entry: AuthzEntry | undefined): CompiledEntry | undefined
function compiled(entry: AuthzEntry | undefined): CompiledEntry | undefined {
  return entry && buildAuthzTable([entry]).get(entry.key)
}

type Record = (step: RuleStep) => void

/** Returns the entry with rules that record their results. */
function traced(entry: CompiledEntry, record: Record): CompiledEntry {
  const { rules } = entry
  return rules === undefined ? entry : { ...entry, rules: tracedRules(rules, record) }
}

const tracedRules = (rules: CompiledRules, record: Record): CompiledRules => ({
  ...rules,
  deny: rules.deny.map((rule, index) => tracedRule(rule, { list: 'deny', index }, record)),
  require: rules.require.map((rule, index) => tracedRule(rule, { list: 'require', index }, record)),
  allow: rules.allow.map((rule, index) => tracedRule(rule, { list: 'allow', index }, record)),
  scopes: rules.scopes.map(({ when, ...rest }, index) => ({
    ...rest,
    ...(when && { when: tracedRule(when, { list: 'requiredScopes', index }, record) }),
  })),
})

const tracedRule = (rule: Rule, place: RulePlace, record: Record): Rule => ({
  ...rule,
  evaluate(attributes, budget) {
    const result = rule.evaluate(attributes, budget)
    record({
      step: 'rule',
      place,
      rule,
      attributes,
      result: result.ok ? result.value : result.error,
    })
    return result
  },
})
