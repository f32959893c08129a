// A table that has just been replaced → the same look-ups, with entries whose keys vanished kept for a while:
// an Envoy that has not taken the new configuration yet still names them (decision 33).

/** What a server looks entries up in. */
export interface EntryTable<Entry> {
  get(key: string): Entry | undefined
}

interface Kept<Entry> {
  readonly entry: Entry
  /** Milliseconds since the epoch: when the key vanished. */
  readonly since: number
}

export class RetainedTable<Entry> implements EntryTable<Entry> {
  private current: EntryTable<Entry> = { get: () => undefined }
  private readonly kept = new Map<string, Kept<Entry>>()

  get(key: string): Entry | undefined {
    return this.current.get(key) ?? this.kept.get(key)?.entry
  }

  /** gone: at least the keys that the table before has and this one has not. */
  replace(table: EntryTable<Entry>, gone: readonly string[], now: number): void {
    for (const key of gone) {
      const entry = this.current.get(key)
      if (entry !== undefined) this.kept.set(key, { entry, since: now })
    }
    for (const key of this.kept.keys()) if (table.get(key) !== undefined) this.kept.delete(key)
    this.current = table
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
