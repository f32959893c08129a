// Types for who may use a route according to its policies: rules and token scopes.

import type { RulePolicy } from './policy-source.js'

/** The rules of all policies on the target, pooled (decision 4): any deny, then every require, then any allow. */
export interface Authorization {
  readonly deny: readonly string[]
  readonly require: readonly string[]
  readonly allow: readonly string[]
  /** Checked after the rules; absent: none. */
  readonly requiredScopes?: readonly RequiredScopes[]
  /** The policies that the rules are from, in the order in which they were pooled. */
  readonly policies?: readonly RulePolicy[]
}

/** Scopes that a token must have (RFC 6750, section 3.1: insufficient_scope), for some or all requests. */
export interface RequiredScopes {
  /** All of them must be in scope or scp. */
  readonly scopes: readonly string[]
  /** CEL condition; absent: every request needs the scopes. */
  readonly when?: string
  /** Any one of these replaces all of scopes. */
  readonly impliedBy: readonly string[]
}
