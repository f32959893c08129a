// Which ProxyPolicy a part of a table entry is from, for those who read logs.

/** A ProxyPolicy, and where it was read. */
export interface PolicySource {
  /** NAMESPACE/NAME. */
  readonly policy: string
  /** FILE:LINE, or "kubernetes". */
  readonly source: string
}

/** What one ProxyPolicy adds to the rules of its target: the next ones in the list of its action, and in that of scopes. */
export interface RulePolicy extends PolicySource {
  readonly action: 'Deny' | 'Require' | 'Allow'
  /** How many of its matchExpressions. */
  readonly rules: number
  /** How many of its requiredScopes. */
  readonly scopes: number
}
