// traffic.authorization of every policy on a target → one pool of rules (decision 4).

import { compileRule } from '../../cel/rule.js'
import type { Authorization } from '../../ir/authz-entry.js'
import type { ProxyPolicySpec } from '../../resources/kinds/proxy-policy.js'

export type AuthorizationSpec = NonNullable<
  NonNullable<ProxyPolicySpec['traffic']>['authorization']
>

export function authorizationProblems({ policy }: AuthorizationSpec): readonly string[] {
  const { matchExpressions } = policy
  if (matchExpressions.length === 0)
    return ['authorization.policy.matchExpressions is empty; at least one expression is needed']
  return matchExpressions.flatMap((source, index) => {
    const rule = compileRule(source)
    return rule.ok ? [] : [`authorization.policy.matchExpressions[${index}]: ${rule.error.message}`]
  })
}

/** Whether a rule asks about MCP messages, so that a check needs the body. */
export const readsMcp = ({ policy }: AuthorizationSpec): boolean =>
  policy.matchExpressions.some((source) => {
    const rule = compileRule(source)
    return rule.ok && rule.value.reads.roots.has('mcp')
  })

/** undefined: no policy has an authorization block, any caller that passed authentication may pass. */
export function poolAuthorization(specs: readonly AuthorizationSpec[]): Authorization | undefined {
  if (specs.length === 0) return undefined
  const expressions = (action: AuthorizationSpec['action']) =>
    specs.filter((spec) => spec.action === action).flatMap(({ policy }) => policy.matchExpressions)
  return {
    deny: expressions('Deny'),
    require: expressions('Require'),
    allow: expressions('Allow'),
  }
}
