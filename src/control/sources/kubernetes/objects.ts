// Stores objects of the API server and decodes them, one in each step: a list may bring thousands at once. An unchanged
// resource stays the same object, and one that no longer decodes leaves its last good version in force (decision 27).

import { each, type Work } from '../../../kit/turns.js'
import { isJsonObject, type JsonObject } from '../../../model/json.js'
import { type DecodedResource, decodeObject } from '../../schema/decode/decode.js'
import { createResourceCollector, resourceKey } from '../../schema/decode/resource-set.js'
import type { Kind } from '../../schema/kinds/kinds.js'
import { KUBERNETES, type Problem, type Resources } from '../../schema/kinds/resources.js'

/** The objects of all kinds. */
export interface ObjectStore {
  /**
   * Stores an object. apiVersion is that of the list, as its items may lack it. Returns false if nothing has changed of
   * what is read: at most its status, or metadata such as annotations.
   */
  put(object: JsonObject, kind: Kind, apiVersion: string): boolean
  /** Removes an object; false if it was not stored. */
  remove(object: JsonObject, kind: Kind): boolean
  /** Returns the object as received, for writing its status. */
  raw(key: string): JsonObject | undefined
  /** Replaces the object by the API server's answer to a status write, unless a later version has arrived. */
  adopt(key: string, basis: JsonObject, answer: JsonObject): void
  /** Decodes and collects the state at its begin, in slices; objects that come or go meanwhile belong to the next one. */
  collected(): Work<CollectedObjects>
}

/** The resources of all objects. */
export interface CollectedObjects {
  readonly resources: Resources
  readonly problems: readonly Problem[]
  /** Problems of objects that have never decoded. */
  readonly undecoded: readonly Problem[]
}

/** An object that has not been decoded yet. */
interface Arrived {
  readonly object: JsonObject
  readonly kind: Kind
  readonly apiVersion: string
}

/** What is collected from an object. */
interface Content {
  readonly decoded: DecodedResource | undefined
  readonly problems: readonly Problem[]
}

/** Creates an empty store. */
export function createObjectStore(kinds: readonly Kind[]): ObjectStore {
  const raw = new Map<string, JsonObject>()
  const collection = createCollection(kinds)
  return {
    put: (object, kind, apiVersion) => {
      const key = objectKey(object, kind)
      const before = raw.get(key)
      raw.set(key, object)
      if (before !== undefined && hasSameContent(before, object)) return false
      collection.put(key, { object, kind, apiVersion })
      return true
    },
    remove: (object, kind) => {
      const key = objectKey(object, kind)
      collection.put(key, undefined)
      return raw.delete(key)
    },
    raw: (key) => raw.get(key),
    adopt: (key, basis, answer) => {
      if (raw.get(key) === basis) raw.set(key, answer)
    },
    collected: () => collection.collected(),
  }
}

interface Collection {
  /** undefined: the object is gone. */
  put(key: string, arrived: Arrived | undefined): void
  collected(): Work<CollectedObjects>
}

function createCollection(kinds: readonly Kind[]): Collection {
  const collector = createResourceCollector()
  const good = new Map<string, DecodedResource>()
  const broken = new Map<string, Content>()
  let waiting: (readonly [key: string, arrived: Arrived | undefined])[] = []
  const decode = (key: string, arrived: Arrived): void => {
    const { decoded, problems } = contentOf(arrived, kinds, good.get(key))
    if (decoded !== undefined) good.set(key, decoded)
    if (problems.length > 0) broken.set(key, { decoded, problems })
    else broken.delete(key)
    collector.put(key, decoded === undefined ? [] : [decoded])
  }
  const remove = (key: string): void => {
    good.delete(key)
    broken.delete(key)
    collector.put(key, [])
  }
  return {
    put: (key, arrived) => {
      waiting.push([key, arrived])
    },
    *collected() {
      const now = waiting
      waiting = []
      yield* each(now, ([key, arrived]) =>
        arrived === undefined ? remove(key) : decode(key, arrived),
      )
      const own = [...broken.values()]
      const { resources, problems } = yield* collector.collectedWork()
      return {
        resources,
        problems: [...own.flatMap((content) => content.problems), ...problems],
        undecoded: own.flatMap(({ decoded, problems: all }) => (decoded === undefined ? all : [])),
      }
    },
  }
}

/** Returns the key of an object, as resourceKey() makes it. */
export function objectKey({ metadata }: JsonObject, { kind }: Kind): string {
  const { namespace, name } = isJsonObject(metadata) ? metadata : {}
  return resourceKey(kind, textOf(namespace), textOf(name))
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/**
 * Whether both are the same object with the same labels and content. The generation says so for most kinds, of which at
 * most the status has changed; Services, Secrets and the like have none.
 */
function hasSameContent(before: JsonObject, after: JsonObject): boolean {
  const [a, b] = [before['metadata'], after['metadata']]
  if (!isJsonObject(a) || !isJsonObject(b) || a['uid'] !== b['uid']) return false
  if (JSON.stringify(a['labels']) !== JSON.stringify(b['labels'])) return false
  const { generation } = a
  return typeof generation === 'number'
    ? generation === b['generation']
    : typeof b['generation'] !== 'number' && contentText(before) === contentText(after)
}

/** Returns all of an object but its metadata, of which only what is compared above can change and is read. */
const contentText = ({ metadata: _, ...content }: JsonObject): string => JSON.stringify(content)

function contentOf(
  { object, kind, apiVersion }: Arrived,
  kinds: readonly Kind[],
  before: DecodedResource | undefined,
): Content {
  const named = { ...object, apiVersion, kind: kind.kind }
  const { resources, problems } = decodeObject(named, KUBERNETES, kinds)
  const [now] = resources
  if (now !== undefined) return { decoded: sameOr(before, now), problems: [] }
  return {
    decoded: before,
    problems: before === undefined ? problems : problems.map(staying),
  }
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
