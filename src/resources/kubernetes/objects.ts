// Stores objects of the API server and decodes them: an unchanged resource stays the same object, and one that no
// longer decodes leaves its last good version in force (decision 27).

import { isJsonObject, type JsonObject } from '../../ir/json.js'
import type { Work } from '../../turns.js'
import { type DecodedResource, decodeObject } from '../decode/decode.js'
import type { PlainMap } from '../decode/plain-map.js'
import { createResourceCollector, resourceKey } from '../decode/resource-set.js'
import type { Kind } from '../kinds/kinds.js'
import { KUBERNETES, type Problem, type Resources } from '../kinds/resources.js'

/** The objects of all kinds. */
export interface ObjectStore {
  /**
   * Stores an object. apiVersion is that of the list, as its items may lack it. Returns false if nothing that Gatehouse
   * reads has changed.
   */
  put(object: JsonObject, kind: Kind, apiVersion: string): boolean
  /** Removes an object; false if it was not stored. */
  remove(object: JsonObject, kind: Kind): boolean
  /** Returns the object as received, for writing its status. */
  raw(key: string): JsonObject | undefined
  /** Replaces the object by the API server's answer to a status write, unless a later version has arrived. */
  adopt(key: string, basis: JsonObject, answer: JsonObject): void
  /** Collects the state at its begin, in slices; objects that come or go meanwhile belong to the next one. */
  collected(): Work<CollectedObjects>
}

/** The resources of all objects. */
export interface CollectedObjects {
  readonly resources: Resources
  readonly problems: readonly Problem[]
  /** Problems of objects that have never decoded. */
  readonly undecoded: readonly Problem[]
}

interface Stored {
  readonly raw: JsonObject
  readonly decoded: DecodedResource | undefined
  readonly problems: readonly Problem[]
}

/** Creates an empty store. */
export function createObjectStore(kinds: readonly Kind[]): ObjectStore {
  const stored = new Map<string, Stored>()
  const collection = createCollection()
  return {
    put: (object, kind, apiVersion) => {
      const key = objectKey(object, kind)
      const before = stored.get(key)
      if (before !== undefined && hasSameSpec(before.raw, object)) {
        stored.set(key, { ...before, raw: object })
        return false
      }
      const after = decode({ ...object, apiVersion, kind: kind.kind }, object, kinds, before)
      stored.set(key, after)
      collection.put(key, after)
      return before === undefined || after.decoded !== before.decoded || after.problems.length > 0
    },
    remove: (object, kind) => {
      const key = objectKey(object, kind)
      collection.put(key, GONE)
      return stored.delete(key)
    },
    raw: (key) => stored.get(key)?.raw,
    adopt: (key, basis, answer) => {
      const before = stored.get(key)
      if (before?.raw === basis) stored.set(key, { ...before, raw: answer })
    },
    collected: () => collection.collected(),
  }
}

/** What is collected from an object. */
type Content = Omit<Stored, 'raw'>

const GONE: Content = { decoded: undefined, problems: [] }

interface Collection {
  put(key: string, content: Content): void
  collected(): Work<CollectedObjects>
}

function createCollection(): Collection {
  const collector = createResourceCollector()
  const broken = new Map<string, Content>()
  /** What has come since a collecting began; undefined: none is under way. */
  let arrived: Map<string, Content> | undefined
  const apply = (key: string, content: Content): void => {
    collector.put(key, content.decoded === undefined ? [] : [content.decoded])
    if (content.problems.length > 0) broken.set(key, content)
    else broken.delete(key)
  }
  return {
    put: (key, content) => {
      if (arrived === undefined) apply(key, content)
      else arrived.set(key, content)
    },
    *collected() {
      arrived = new Map()
      const { resources, problems } = yield* collector.collectedWork()
      const own = [...broken.values()]
      const later = arrived
      arrived = undefined
      const state = {
        resources,
        problems: [...own.flatMap((each) => each.problems), ...problems],
        undecoded: own.flatMap((each) => (each.decoded === undefined ? each.problems : [])),
      }
      for (const [key, content] of later) apply(key, content)
      return state
    },
  }
}

/** Returns the key of an object, as resourceKey() makes it. */
export function objectKey({ metadata }: JsonObject, { kind }: Kind): string {
  const { namespace, name } = isJsonObject(metadata) ? metadata : {}
  return resourceKey(kind, textOf(namespace), textOf(name))
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** Whether both are the same object with the same generation and labels, so that at most its status has changed. */
function hasSameSpec(before: JsonObject, after: JsonObject): boolean {
  const [a, b] = [before['metadata'], after['metadata']]
  return (
    isJsonObject(a) &&
    isJsonObject(b) &&
    typeof a['generation'] === 'number' &&
    a['generation'] === b['generation'] &&
    a['uid'] === b['uid'] &&
    JSON.stringify(a['labels']) === JSON.stringify(b['labels'])
  )
}

function decode(
  object: PlainMap,
  raw: JsonObject,
  kinds: readonly Kind[],
  before: Stored | undefined,
): Stored {
  const { resources, problems } = decodeObject(object, KUBERNETES, kinds)
  const [now] = resources
  if (now !== undefined) return { raw, decoded: sameOr(before?.decoded, now), problems: [] }
  const stays = before?.decoded !== undefined
  return { raw, decoded: before?.decoded, problems: stays ? problems.map(staying) : problems }
}

/**
 * Returns the previous resource if the result is equal: kinds without a generation change also when nothing that
 * Gatehouse reads did.
 */
const sameOr = (before: DecodedResource | undefined, now: DecodedResource): DecodedResource =>
  before !== undefined && JSON.stringify(before) === JSON.stringify(now) ? before : now

const staying = (problem: Problem): Problem => ({
  ...problem,
  message: `${problem.message} (the last good version stays in force)`,
  stays: true,
})
