// Compiles the rules of the model.

import type { Work } from '../../kit/turns.js'
import type { Authorization, RequiredScopes } from '../../model/authorization.js'
import { compileRule, type Rule } from '../cel/rule.js'
import type { CompiledRules, CompiledScopes } from './judge.js'

/**
 * Yields within and after each rule: a long one takes milliseconds, and a policy may have hundreds. undefined: one of them is not a
 * valid rule. The translation rejects such policies; this is a second check.
 */
export function* compileRules(authorization: Authorization): Work<CompiledRules | undefined> {
  const deny = yield* compileAll(authorization.deny)
  const require = yield* compileAll(authorization.require)
  const allow = yield* compileAll(authorization.allow)
  const scopes = yield* compileScopes(authorization.requiredScopes ?? [])
  if (deny === undefined || require === undefined || allow === undefined || scopes === undefined)
    return undefined
  const rules = { deny, require, allow, scopes }
  const all = allRules(rules)
  return {
    ...rules,
    readTokenAlone: all.every(readsToken),
    readResources: all.some((rule) => readsOfMcp(rule, RESOURCES)),
  }
}

type RuleLists = Pick<CompiledRules, 'deny' | 'require' | 'allow' | 'scopes'>

const RESOURCES = ['*', 'resource', 'resource.uri']

/** Whether a rule reads one of these members of mcp. */
export function readsOfMcp({ reads }: Rule, names: readonly string[]): boolean {
  const members = reads.roots.get('mcp')
  return members !== undefined && names.some((name) => members.has(name))
}

/** Returns every rule of an entry, including the conditions of scopes. */
export const allRules = (rules: RuleLists): readonly Rule[] => [
  ...rules.deny,
  ...rules.require,
  ...rules.allow,
  ...rules.scopes.flatMap(({ when }) => when ?? []),
]

function* compileScopes(
  list: readonly RequiredScopes[],
): Work<readonly CompiledScopes[] | undefined> {
  const compiled: CompiledScopes[] = []
  for (const { scopes, impliedBy, when } of list) {
    const rule = when === undefined ? undefined : yield* compileRule(when)
    if (rule?.ok === false) return undefined
    compiled.push({ scopes, impliedBy, ...(rule && { when: rule.value }) })
    yield
  }
  return compiled
}

const readsToken = ({ reads }: Rule): boolean =>
  [...reads.roots.keys()].every((root) => root === 'jwt')

function* compileAll(sources: readonly string[]): Work<readonly Rule[] | undefined> {
  const rules: Rule[] = []
  for (const source of sources) {
    const compiled = yield* compileRule(source)
    if (!compiled.ok) return undefined
    rules.push(compiled.value)
    yield
  }
  return rules
}
