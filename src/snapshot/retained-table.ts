// A table that has just been replaced → the same look-ups, with entries whose keys vanished kept for a while:
// an Envoy that has not taken the new configuration yet still names them (decision 33).

/** What a server looks entries up in. */
export interface Table<Entry> {
  get(key: string): Entry | undefined
}

interface Kept<Entry> {
  readonly entry: Entry
  /** Milliseconds since the epoch: when the key vanished. */
  readonly since: number
}

export class RetainedTable<Entry> implements Table<Entry> {
  private current: Table<Entry> = { get: () => undefined }
  private keys: ReadonlySet<string> = new Set()
  private readonly kept = new Map<string, Kept<Entry>>()

  get(key: string): Entry | undefined {
    return this.current.get(key) ?? this.kept.get(key)?.entry
  }

  /** keys: every key of the table. */
  replace(table: Table<Entry>, keys: ReadonlySet<string>, now: number): void {
    for (const key of this.keys) {
      const entry = keys.has(key) ? undefined : this.current.get(key)
      if (entry !== undefined) this.kept.set(key, { entry, since: now })
    }
    for (const key of keys) this.kept.delete(key)
    this.current = table
    this.keys = keys
  }

  /** Forgets the keys that vanished at that time or before it. */
  forget(vanishedBy: number): void {
    for (const [key, { since }] of this.kept) if (since <= vanishedBy) this.kept.delete(key)
  }

  /** How many vanished keys are kept. */
  get size(): number {
    return this.kept.size
  }
}
