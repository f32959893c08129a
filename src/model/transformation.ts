// Types for the values that ext_authz computes for Envoy on allowed requests: header values and rate limit keys.

/** Header changes (ProxyPolicy traffic.transformation). Names are lower-case. */
export interface Transformation {
  readonly request: {
    readonly set: readonly HeaderExpression[]
    readonly add: readonly HeaderExpression[]
    readonly remove: readonly string[]
  }
  readonly response: {
    /** Envoy has already removed the backend's headers of these names. */
    readonly set: readonly HeaderExpression[]
  }
}

/** A header and the CEL expression of its value. */
export interface HeaderExpression {
  readonly name: string
  readonly expression: string
}

/** The key of a keyed rate limit. */
export interface LimitKey {
  /** Index of the limit in its policy. */
  readonly index: number
  /** CEL expression of the key. */
  readonly expression: string
}
