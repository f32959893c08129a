// Types that name the ProxyPolicy behind a part of a table entry, for logs.

/** A ProxyPolicy and where it was read. */
export interface PolicySource {
  /** NAMESPACE/NAME. */
  readonly policy: string
  /** FILE:LINE, or "kubernetes". */
  readonly source: string
}

/** The share of one ProxyPolicy in the pooled rules: the next ones in the list of its action and in requiredScopes. */
export interface RulePolicy extends PolicySource {
  readonly action: 'Deny' | 'Require' | 'Allow'
  /** Number of its matchExpressions. */
  readonly rules: number
  /** Number of its requiredScopes. */
  readonly scopes: number
}
