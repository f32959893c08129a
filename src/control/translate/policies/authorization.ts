// Pools traffic.authorization of all policies on a target into one set of rules (decision 4), and validates it.

import { compileRule } from '../../../extauthz/cel/rule.js'
import type { Work } from '../../../kit/turns.js'
import type { Authorization, RequiredScopes } from '../../../model/authorization.js'
import type { RulePolicy } from '../../../model/policy-source.js'
import type { ProxyPolicySpec } from '../../schema/kinds/proxy-policy.js'
import type { Resource } from '../../schema/kinds/resources.js'
import { keyOf } from '../world/world.js'

type ProxyPolicy = Resource<ProxyPolicySpec>

/** traffic.authorization of a policy. */
export type AuthorizationSpec = NonNullable<
  NonNullable<ProxyPolicySpec['traffic']>['authorization']
>

/** What the translation must know about the rules of a policy. */
export interface CheckedRules {
  readonly problems: readonly string[]
  /** Whether a rule reads MCP messages, so that checks need the body. */
  readonly readsMcp: boolean
}

/** Yields after each expression: a long one takes milliseconds, and a policy may have hundreds. */
export function* checkRules({ policy }: AuthorizationSpec): Work<CheckedRules> {
  const { matchExpressions, requiredScopes = [] } = policy
  if (matchExpressions.length === 0 && requiredScopes.length === 0)
    return {
      problems: [
        'authorization.policy.matchExpressions is empty; at least one expression is needed',
      ],
      readsMcp: false,
    }
  const sources = [
    ...matchExpressions.map((source, index) => [`matchExpressions[${index}]`, source] as const),
    ...requiredScopes.flatMap(({ when }, index) =>
      when === undefined ? [] : [[`requiredScopes[${index}].when`, when] as const],
    ),
  ]
  const problems: string[] = []
  let readsMcp = false
  for (const [place, source] of sources) {
    const rule = yield* compileRule(source)
    if (!rule.ok) problems.push(`authorization.policy.${place}: ${rule.error.message}`)
    else readsMcp ||= rule.value.reads.roots.has('mcp')
    yield
  }
  return { problems, readsMcp }
}

/** Returns undefined if no policy has an authorization block: any caller that passed authentication may then pass. */
export function poolAuthorization(policies: readonly ProxyPolicy[]): Authorization | undefined {
  const specs = policies.flatMap(({ spec }) => spec.traffic?.authorization ?? [])
  if (specs.length === 0) return undefined
  const expressions = (action: AuthorizationSpec['action']) =>
    specs.filter((spec) => spec.action === action).flatMap(({ policy }) => policy.matchExpressions)
  const requiredScopes = specs.flatMap(({ policy }) => policy.requiredScopes ?? [])
  return {
    deny: expressions('Deny'),
    require: expressions('Require'),
    allow: expressions('Allow'),
    ...(requiredScopes.length === 0 ? {} : { requiredScopes: requiredScopes.map(scopesEntry) }),
    policies: policies.flatMap(rulePolicy),
  }
}

function rulePolicy(policy: ProxyPolicy): readonly RulePolicy[] {
  const spec = policy.spec.traffic?.authorization
  if (spec === undefined) return []
  const { matchExpressions, requiredScopes = [] } = spec.policy
  const ruleLines = policy.lines?.['traffic.authorization.policy.matchExpressions']
  const scopeLines = policy.lines?.['traffic.authorization.policy.requiredScopes']
  return [
    {
      policy: keyOf(policy),
      source: policy.source,
      action: spec.action,
      rules: matchExpressions.length,
      scopes: requiredScopes.length,
      ...(ruleLines && { ruleLines }),
      ...(scopeLines && { scopeLines }),
    },
  ]
}

const scopesEntry = ({
  scopes,
  when,
  impliedBy,
}: NonNullable<AuthorizationSpec['policy']['requiredScopes']>[number]): RequiredScopes => ({
  scopes,
  ...(when === undefined ? {} : { when }),
  impliedBy,
})
