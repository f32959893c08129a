// The documents of one file, and what it gave before → what it gives now: a document that does not decode
// leaves its last good version in force (decision 27), and one that did not change is not decoded again.

import { type Decoded, type DecodedResource, joinDecoded } from '../decode/decode.js'
import { resourceKey, resourceKeyOf } from '../decode/resource-set.js'
import type { Kind } from '../kinds/kinds.js'
import type { Problem } from '../kinds/resources.js'
import { decodeDocuments, type ReadFile } from './read-documents.js'

export interface FileRecord {
  readonly resources: readonly DecodedResource[]
  readonly problems: readonly Problem[]
  readonly notes: readonly Problem[]
  /** Of documents that have never decoded: nothing of them is in force. */
  readonly undecoded: readonly Problem[]
  readonly documents: ReadonlyMap<string, DecodedDocument>
  /** The system did not let us read the file, which may pass without a change of it. */
  readonly unread?: true
}

/** By the hash of its text, in FileRecord.documents. */
interface DecodedDocument {
  readonly line: number
  readonly decoded: Decoded
}

export const EMPTY_RECORD: FileRecord = {
  resources: [],
  problems: [],
  notes: [],
  undecoded: [],
  documents: new Map(),
}

/** file: its name in messages. */
export const decodeFile = (
  bytes: Uint8Array,
  file: string,
  kinds: readonly Kind[],
  previous = EMPTY_RECORD,
): FileRecord =>
  recordOf(decodeDocuments(bytes, file, kinds, previous.documents), file, kinds, previous)

/** read: with what previous does not know. */
export function recordOf(
  read: ReadFile,
  file: string,
  kinds: readonly Kind[],
  previous = EMPTY_RECORD,
): FileRecord {
  if (read.type === 'broken') {
    const record = brokenFile(file, read.message, previous)
    return read.unread === true ? { ...record, unread: true } : record
  }
  const documents = new Map<string, DecodedDocument>()
  const parts = read.documents.flatMap(({ hash, line, decoded }) => {
    const before = previous.documents.get(hash)
    const part = before === undefined ? decoded : moveLines(before.decoded, line - before.line)
    if (part === undefined) return []
    documents.set(hash, { line, decoded: part })
    return [part]
  })
  const known = new Set(kinds.map(({ kind }) => kind))
  return { ...keepLastGood(joinDecoded(parts), previous, known), documents }
}

/** A file that cannot be read as a whole: everything it gave before stays. */
function brokenFile(file: string, message: string, previous = EMPTY_RECORD): FileRecord {
  const problem = { source: file, message }
  const decoded = { resources: [], problems: [problem], notes: [] }
  return { ...keepLastGood(decoded, previous, new Set()), documents: previous.documents }
}

/** known: the kinds that there are. */
function keepLastGood(
  decoded: Decoded,
  previous: FileRecord,
  known: ReadonlySet<string>,
): Omit<FileRecord, 'documents'> {
  const present = new Set(decoded.resources.map(({ resource }) => resourceKeyOf(resource)))
  const keysOf = (problem: Problem) => possibleKeys(problem, known)
  const broken = new Set(decoded.problems.flatMap(keysOf))
  const absent = previous.resources.filter(({ resource }) => !present.has(resourceKeyOf(resource)))
  // A document whose name cannot be read may have been any of those that are gone: all of them stay.
  const nameless = broken.delete(undefined)
  const kept = nameless
    ? absent
    : absent.filter(({ resource }) => broken.has(resourceKeyOf(resource)))
  const keptKeys = new Set(kept.map(({ resource }) => resourceKeyOf(resource)))
  const stays = (problem: Problem) => {
    const keys = keysOf(problem)
    return keys.includes(undefined)
      ? kept.length > 0
      : keys.some((key) => key !== undefined && keptKeys.has(key))
  }
  return {
    resources: [...decoded.resources, ...kept],
    problems: decoded.problems.map((problem) =>
      stays(problem)
        ? {
            ...problem,
            message: `${problem.message} (the last good version stays in force)`,
            stays: true,
          }
        : problem,
    ),
    notes: decoded.notes,
    undecoded: decoded.problems.filter((problem) => !stays(problem)),
  }
}

/** Of what the document may have been before; undefined: anything. A kind that there is not may stand for any. */
function possibleKeys(
  { kind, namespace, name }: Problem,
  known: ReadonlySet<string>,
): readonly (string | undefined)[] {
  if (kind === undefined || name === undefined) return [undefined]
  const kinds = known.has(kind) ? [kind] : [...known]
  return kinds.map((each) => resourceKey(each, namespace, name))
}

/** Positions follow a document that moved within its file; what was decoded from it stays the same objects. */
function moveLines(decoded: Decoded, lines: number): Decoded {
  if (lines === 0) return decoded
  const move = (source: string) =>
    source.replace(
      /:(\d+)(:\d+)?$/,
      (_, line: string, column = '') => `:${Number(line) + lines}${column}`,
    )
  const moveProblem = (problem: Problem) => ({ ...problem, source: move(problem.source) })
  return {
    resources: decoded.resources.map(({ collection, resource, position }) => ({
      collection,
      resource: { ...resource, source: move(resource.source) },
      position: move(position),
    })),
    problems: decoded.problems.map(moveProblem),
    notes: decoded.notes.map(moveProblem),
  }
}
