// Types for host names that Gatehouse resolves for routes: Envoy gets addresses, never a name to resolve unchecked.

/** The state of one wanted name in remote/. Replaced whole, never mutated. */
export interface ResolvedName {
  /** Addresses of the last good answer, sorted, without duplicates; absent: none yet. */
  readonly ips?: readonly string[]
  /** Why the last attempt failed; absent: it succeeded. */
  readonly error?: string
}

/** Names in lower case without a trailing dot. A wanted name that is missing was not looked up yet. */
export type NameState = ReadonlyMap<string, ResolvedName>
