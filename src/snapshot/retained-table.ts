// A replaceable table that keeps entries whose keys vanished for a while: an Envoy without the new configuration still
// sends these keys (decision 33).

/** The table in which a server looks up entries. */
export interface EntryTable<Entry> {
  get(key: string): Entry | undefined
  /** Whether it was never filled, so that an unknown key means nothing. */
  readonly isUnfilled: boolean
}

interface Kept<Entry> {
  readonly entry: Entry
  /** When the key vanished, in milliseconds since the epoch. */
  readonly since: number
}

/** A table of which vanished entries are kept for a while. */
export class RetainedTable<Entry> implements EntryTable<Entry> {
  private current: Pick<EntryTable<Entry>, 'get'> = { get: () => undefined }
  isUnfilled = true
  private readonly kept = new Map<string, Kept<Entry>>()

  get(key: string): Entry | undefined {
    return this.current.get(key) ?? this.kept.get(key)?.entry
  }

  /** gone: must include every key of the previous table that the new one lacks. */
  replace(table: Pick<EntryTable<Entry>, 'get'>, gone: readonly string[], now: number): void {
    for (const key of gone) {
      const entry = this.current.get(key)
      if (entry !== undefined) this.kept.set(key, { entry, since: now })
    }
    for (const key of this.kept.keys()) if (table.get(key) !== undefined) this.kept.delete(key)
    this.current = table
    this.isUnfilled = false
  }

  /** Drops the keys that vanished at or before that time. */
  forget(vanishedBy: number): void {
    for (const [key, { since }] of this.kept) if (since <= vanishedBy) this.kept.delete(key)
  }

  /** Number of vanished keys that are kept. */
  get size(): number {
    return this.kept.size
  }
}
