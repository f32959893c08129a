// Stores objects of the API server and decodes them: an unchanged resource stays the same object, and one that no
// longer decodes leaves its last good version in force (decision 27).

import { isJsonObject, type JsonObject } from '../../ir/json.js'
import { type DecodedResource, decodeObject } from '../decode/decode.js'
import type { PlainMap } from '../decode/field-path.js'
import {
  type CollectedResources,
  createResourceCollector,
  resourceKey,
} from '../decode/resource-set.js'
import type { Kind } from '../kinds/kinds.js'
import { KUBERNETES, type Problem } from '../kinds/resources.js'

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
  collected(): CollectedResources
  problems(): readonly Problem[]
  /** Returns the problems of objects that have never decoded. */
  undecoded(): readonly Problem[]
}

interface Stored {
  readonly raw: JsonObject
  readonly decoded: DecodedResource | undefined
  readonly problems: readonly Problem[]
}

export function createObjectStore(kinds: readonly Kind[]): ObjectStore {
  const stored = new Map<string, Stored>()
  const collector = createResourceCollector()
  const broken = new Map<string, Stored>()
  const keep = (key: string, entry: Stored): void => {
    stored.set(key, entry)
    collector.put(key, entry.decoded === undefined ? [] : [entry.decoded])
    if (entry.problems.length > 0) broken.set(key, entry)
    else broken.delete(key)
  }
  return {
    put: (object, kind, apiVersion) => {
      const key = objectKey(object, kind)
      const before = stored.get(key)
      if (before !== undefined && hasSameSpec(before.raw, object)) {
        stored.set(key, { ...before, raw: object })
        return false
      }
      const after = decode({ ...object, apiVersion, kind: kind.kind }, object, kinds, before)
      keep(key, after)
      return before === undefined || after.decoded !== before.decoded || after.problems.length > 0
    },
    remove: (object, kind) => {
      const key = objectKey(object, kind)
      collector.put(key, [])
      broken.delete(key)
      return stored.delete(key)
    },
    raw: (key) => stored.get(key)?.raw,
    adopt: (key, basis, answer) => {
      const before = stored.get(key)
      if (before?.raw === basis) stored.set(key, { ...before, raw: answer })
    },
    collected: () => collector.collected(),
    problems: () => [...broken.values()].flatMap(({ problems }) => problems),
    undecoded: () =>
      [...broken.values()].flatMap(({ decoded, problems }) =>
        decoded === undefined ? problems : [],
      ),
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
