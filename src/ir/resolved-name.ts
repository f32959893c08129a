// A host name that routes lead to, resolved by us: Envoy is given addresses, never a name that it would resolve unchecked.

/** What remote/ knows of one wanted name. Replaced whole, never mutated. */
export interface ResolvedName {
  /** Of the last good answer, sorted, each once; absent: there was none yet. */
  readonly ips?: readonly string[]
  /** Why the last attempt failed; absent: it did not. */
  readonly error?: string
}

/** By the name, in lower case and without a dot at its end. A wanted name that is missing was not asked for yet. */
export type NameState = ReadonlyMap<string, ResolvedName>
