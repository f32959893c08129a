// What ext_authz computes of each request that it lets in, for Envoy: header values, and keys of rate limits.

/** Headers that change on the way (ProxyPolicy traffic.transformation). Names are lower-case. */
export interface Transformation {
  readonly request: {
    readonly set: readonly HeaderExpression[]
    readonly add: readonly HeaderExpression[]
    readonly remove: readonly string[]
  }
  readonly response: {
    /** Envoy has removed the backend's own. */
    readonly set: readonly HeaderExpression[]
  }
}

/** A header, and the CEL expression of its value. */
export interface HeaderExpression {
  readonly name: string
  readonly expression: string
}

/** The key of a limit of a route. */
export interface LimitKey {
  /** Of the limit among those of its policy. */
  readonly index: number
  /** CEL. */
  readonly expression: string
}
