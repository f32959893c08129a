// Who may pass a route, as its policies say it: rules, and scopes of the token.

import type { RulePolicy } from './policy-source.js'

/** The rules of all policies on the target, pooled (decision 4): any deny, then every require, then any allow. */
export interface Authorization {
  readonly deny: readonly string[]
  readonly require: readonly string[]
  readonly allow: readonly string[]
  /** Asked for after the rules; absent: none. */
  readonly requiredScopes?: readonly RequiredScopes[]
  /** Whose rules these are, in the order in which they were pooled. */
  readonly policies?: readonly RulePolicy[]
}

/** Scopes that a token must have (RFC 6750, section 3.1: insufficient_scope), for some or all requests. */
export interface RequiredScopes {
  /** All of them must be in scope or scp. */
  readonly scopes: readonly string[]
  /** CEL; absent: of every request. */
  readonly when?: string
  /** Any of them stands for all of scopes. */
  readonly impliedBy: readonly string[]
}
