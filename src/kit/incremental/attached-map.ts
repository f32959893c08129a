// Attached map: a map by object that keeps its values on the objects, in a private field, and no object alive. It is
// used like a WeakMap where there are thousands of keys. V8 follows the entries of a WeakMap only once everything else
// is marked, while the program stands still: 150,000 entries made every full collection twice as long.

/** A map by object. A value lives as long as its key, even if the map is dropped: use WeakMap for maps that come and go. */
export interface AttachedMap<Key extends object, Value> {
  get(key: Key): Value | undefined
  set(key: Key, value: Value): void
}

/** A base class whose constructor returns the given object, to which the derived class then adds its private fields. */
class Returned {
  constructor(object: object) {
    return object
  }
}

/** Creates an empty map. */
export function createAttachedMap<Key extends object, Value>(): AttachedMap<Key, Value> {
  class Attached extends Returned {
    #value: Value

    constructor(key: Key, value: Value) {
      super(key)
      this.#value = value
    }

    static get(key: Key): Value | undefined {
      return #value in key ? key.#value : undefined
    }

    static set(key: Key, value: Value): void {
      if (#value in key) key.#value = value
      else new Attached(key, value)
    }
  }
  return Attached
}
