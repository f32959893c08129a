// Names the lists of a ProxyPolicy whose entries are rules. Logs name the line of a rule.

/** The lists, as paths in spec. */
export const RULE_LISTS = [
  'traffic.authorization.policy.matchExpressions',
  'traffic.authorization.policy.requiredScopes',
  'backend.ai.promptGuard.request',
  'backend.ai.promptGuard.response',
  'backend.mcp.guard.request',
  'backend.mcp.guard.response',
] as const

/** The path of such a list. */
export type RuleList = (typeof RULE_LISTS)[number]

/**
 * The line of each entry, counted from the first line of its resource, so that a resource that moves within its file
 * keeps them. A list is absent if its lines are unknown.
 */
export type EntryLines = Readonly<Partial<Record<RuleList, readonly number[]>>>
