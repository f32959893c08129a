// How long a stream waits for Envoy.

/** Times in milliseconds. */
export interface Waits {
  /** How long a missing answer delays the changes that wait for it. */
  readonly patienceMs: number
  /**
   * How long Envoy keeps what its listeners and routes do not name any more. A request chooses its route before it is
   * checked, and its cluster afterwards: without that cluster Envoy answers 503.
   */
  readonly lingerMs: number
}

/** The default: a check by ext_authz takes up to 2 s, and a prompt that webhooks look at often longer. */
export const WAITS: Waits = { patienceMs: 3_000, lingerMs: 15_000 }
