// Names the ProxyPolicy and the line behind a part of a table entry, for logs.

/** A ProxyPolicy and where it was read. */
export interface PolicySource {
  /** NAMESPACE/NAME. */
  readonly policy: string
  /** FILE:LINE, or "kubernetes". */
  readonly source: string
}

/** A field of a ProxyPolicy that takes part on a route and that no table entry attributes to its policy. */
export interface PolicyField extends PolicySource {
  readonly field: 'rateLimit' | 'transformation' | 'jwtAuthentication.mcp'
  /** enforced: in a policy of mode Enforce. The others: in one of mode Audit. ignored: it has no effect there. */
  readonly effect: 'enforced' | 'audited' | 'audited in part' | 'ignored'
}

/** The share of one ProxyPolicy in the pooled rules: the next ones in the list of its action and in requiredScopes. */
export interface RulePolicy extends PolicySource {
  readonly action: 'Deny' | 'Require' | 'Allow'
  /** Number of its matchExpressions. */
  readonly rules: number
  /** Number of its requiredScopes. */
  readonly scopes: number
  /** Line of each of its matchExpressions, counted from the line of source; absent: unknown. */
  readonly ruleLines?: readonly number[]
  /** The same of its requiredScopes. */
  readonly scopeLines?: readonly number[]
}

/** Returns ruleSource: FILE:LINE of a rule that is this many lines below the source of its policy. undefined: unknown. */
export function ruleSourceOf(
  source: string,
  line: number | undefined,
): { readonly ruleSource?: string } {
  if (line === undefined) return {}
  const end = source.lastIndexOf(':') + 1
  return { ruleSource: `${source.slice(0, end)}${Number(source.slice(end)) + line}` }
}
