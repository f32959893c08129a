// Persistent map: with() returns a new version that shares its base with the one before; a few changed entries are patches
// on it.

export interface PersistentMap<Value> {
  get(key: string): Value | undefined
  /** undefined: without that key. Of two changes of a key the later one counts. */
  with(changes: Iterable<readonly [string, Value | undefined]>): PersistentMap<Value>
}

/** More of them are made one with what they are patches on. */
const MAX_PATCHES = 128

export const persistentMap = <Value>(
  base: ReadonlyMap<string, Value> = new Map(),
  patches: ReadonlyMap<string, Value | undefined> = new Map(),
): PersistentMap<Value> => ({
  get: (key) => (patches.has(key) ? patches.get(key) : base.get(key)),
  with: (changes) => {
    const all = new Map([...patches, ...changes])
    return all.size > MAX_PATCHES ? persistentMap(merged(base, all)) : persistentMap(base, all)
  },
})

function merged<Value>(
  base: ReadonlyMap<string, Value>,
  patches: ReadonlyMap<string, Value | undefined>,
): ReadonlyMap<string, Value> {
  const map = new Map(base)
  for (const [key, value] of patches)
    if (value === undefined) map.delete(key)
    else map.set(key, value)
  return map
}
