// The part of table entries that says which Gateways they are for.

/** What all entries of both tables have in common. */
export interface ForGateways {
  /**
   * "NAMESPACE/NAME" of the Gateways whose Envoys send the key, sorted: the Envoys of others may not use the entry. Absent
   * without --provision, where no Envoy proves which Gateway it serves.
   */
  readonly gateways?: readonly string[]
}
