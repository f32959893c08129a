// Persistent map: with() returns a new version that shares its base with the previous one; a few changed entries are
// patches on it.

/** A map that is never modified. */
export interface PersistentMap<Value> {
  get(key: string): Value | undefined
  /** Returns a new version with these changes. undefined removes a key; the last change of a key wins. */
  with(changes: Iterable<readonly [string, Value | undefined]>): PersistentMap<Value>
}

/** Maximum number of patches; more are merged into a new base. */
const MAX_PATCHES = 128

/** Returns a map with these entries. */
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
