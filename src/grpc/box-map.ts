// A Map that keeps nothing alive but what is in it. The table that a Map has outgrown points to the next one, so that
// one such table in the old generation keeps all later ones, with what was in them, until the next full collection.
// Here the tables hold boxes, and a box is emptied when its value is taken out.

interface Box<Value> {
  value: Value | undefined
}

/** Values are never undefined. */
export class BoxMap<Key, Value> extends Map<Key, Value> {
  readonly #boxes = new Map<Key, Box<Value>>()

  override get size(): number {
    return this.#boxes.size
  }

  override has(key: Key): boolean {
    return this.#boxes.has(key)
  }

  override get(key: Key): Value | undefined {
    return this.#boxes.get(key)?.value
  }

  override set(key: Key, value: Value): this {
    const box = this.#boxes.get(key)
    if (box === undefined) this.#boxes.set(key, { value })
    else box.value = value
    return this
  }

  override delete(key: Key): boolean {
    const box = this.#boxes.get(key)
    if (box !== undefined) box.value = undefined
    return this.#boxes.delete(key)
  }

  override clear(): void {
    for (const key of this.#boxes.keys()) this.delete(key)
  }

  override forEach(take: (value: Value, key: Key, map: Map<Key, Value>) => void): void {
    for (const [key, value] of this.entries()) take(value, key, this)
  }

  override keys(): MapIterator<Key> {
    return this.#boxes.keys()
  }

  override *values(): MapIterator<Value> {
    for (const { value } of this.#boxes.values()) if (value !== undefined) yield value
  }

  override *entries(): MapIterator<[Key, Value]> {
    for (const [key, { value }] of this.#boxes) if (value !== undefined) yield [key, value]
  }

  override [Symbol.iterator](): MapIterator<[Key, Value]> {
    return this.entries()
  }
}
