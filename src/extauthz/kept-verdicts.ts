// Verdicts of rules that read a token alone, kept with it for the few routes for which they were made last.

import type { CompiledRules, RuleVerdict } from './rules/judge.js'

/** A verdict of the rules of one route. */
export interface KeptVerdict {
  readonly rules: CompiledRules
  readonly verdict: RuleVerdict
}

/** Maximum number of routes. A token that is used for more in turn is judged again now and then. */
export const ROUTES_PER_TOKEN = 8

/** Returns the verdict of these rules; undefined if none is kept. */
export function keptVerdict(
  kept: readonly KeptVerdict[] | undefined,
  rules: CompiledRules,
): RuleVerdict | undefined {
  if (kept === undefined) return undefined
  for (const one of kept) if (one.rules === rules) return one.verdict
  return undefined
}

/** Returns the verdicts with one more, newest first and without the oldest beyond the limit. */
export const withVerdict = (
  kept: readonly KeptVerdict[] = [],
  newest: KeptVerdict,
): readonly KeptVerdict[] => [newest, ...kept.slice(0, ROUTES_PER_TOKEN - 1)]
