// A replaceable table that keeps entries whose keys vanished for a while: an Envoy without the new configuration still
// sends these keys (decision 33). Likewise it keeps an entry for Gateways that the route was detached from.

import type { ForGateways } from '../../model/for-gateways.js'

/** The table in which a server looks up entries. */
export interface EntryTable<Entry> {
  /**
   * Returns undefined for an unknown key. gateway: NAMESPACE/NAME of the only Gateway that the caller serves, for which the
   * keys of others are unknown; absent: the caller may use every entry.
   */
  get(key: string, gateway?: string): Entry | undefined
  /** Whether it was never filled, so that an unknown key means nothing. */
  readonly isUnfilled: boolean
  /** As in ProcTable. */
  readonly onlyNamespace?: string | undefined
}

type Replacing<Entry> = Pick<EntryTable<Entry>, 'get' | 'onlyNamespace'>

interface Kept<Entry> {
  readonly entry: Entry
  /** When the key vanished, in milliseconds since the epoch. */
  readonly since: number
}

/** A table of which vanished entries are kept for a while. */
export class RetainedTable<Entry extends ForGateways> implements EntryTable<Entry> {
  #current: Replacing<Entry> = { get: () => undefined }
  isUnfilled = true
  readonly #kept = new Map<string, Kept<Entry>>()
  /** When a Gateway lost an entry whose key remains, by pairOf(). */
  readonly #detached = new Map<string, number>()

  get(key: string, gateway?: string): Entry | undefined {
    const entry = this.#current.get(key) ?? this.#kept.get(key)?.entry
    if (gateway === undefined || entry === undefined) return entry
    if (entry.gateways?.includes(gateway) === true) return entry
    return this.#detached.has(pairOf(key, gateway)) ? entry : undefined
  }

  get onlyNamespace(): string | undefined {
    return this.#current.onlyNamespace
  }

  /** gone: must include every key of the previous table that the new one lacks, or whose entry changed. */
  replace(table: Replacing<Entry>, gone: readonly string[], now: number): void {
    for (const key of gone) {
      const entry = this.#current.get(key)
      if (entry !== undefined) this.#kept.set(key, { entry, since: now })
    }
    for (const [key, { entry, since }] of this.#kept) {
      const found = table.get(key)
      if (found === undefined) continue
      this.#kept.delete(key)
      for (const gateway of entry.gateways ?? [])
        if (found.gateways?.includes(gateway) !== true)
          this.#detached.set(pairOf(key, gateway), since)
    }
    this.#current = table
    this.isUnfilled = false
  }

  /** Drops the keys that vanished at or before that time. */
  forget(vanishedBy: number): void {
    for (const [key, { since }] of this.#kept) if (since <= vanishedBy) this.#kept.delete(key)
    for (const [pair, since] of this.#detached) if (since <= vanishedBy) this.#detached.delete(pair)
  }

  /** Number of vanished keys, and of lost entries of Gateways, that are kept. */
  get size(): number {
    return this.#kept.size + this.#detached.size
  }
}

/** Neither keys nor Gateways have spaces. */
const pairOf = (key: string, gateway: string): string => `${key} ${gateway}`
