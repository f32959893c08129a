// Memo by key: returns the previous value while all inputs are the same objects.

import { isSameRow } from './diff.js'

/** Values by key. */
export interface KeyedMemo {
  /** Returns the value for the key; calls compute if an input is another object. compute must depend on inputs only. */
  get<Value>(key: string, inputs: readonly unknown[], compute: () => Value): Value
  /** Drops the keys that were not requested since the last call. */
  endRevision(): void
}

interface Entry {
  readonly inputs: readonly unknown[]
  readonly value: unknown
}

/** Creates an empty memo. */
export function createKeyedMemo(): KeyedMemo {
  let previous = new Map<string, Entry>()
  let current = new Map<string, Entry>()
  return {
    get: <Value>(key: string, inputs: readonly unknown[], compute: () => Value): Value => {
      const before = current.get(key) ?? previous.get(key)
      const entry =
        before !== undefined && isSameRow(before.inputs, inputs)
          ? before
          : { inputs, value: compute() }
      current.set(key, entry)
      return entry.value as Value
    },
    endRevision: () => {
      previous = current
      current = new Map()
    },
  }
}
