// Merges what a file holds now with what it gave before. A document that no longer decodes leaves its last good version
// in force (decision 27); an unchanged one is not decoded again.

import { type Decoded, type DecodedResource, joinDecoded } from '../../schema/decode/decode.js'
import { resourceKey, resourceKeyOf } from '../../schema/decode/resource-set.js'
import type { Kind } from '../../schema/kinds/kinds.js'
import type { Problem } from '../../schema/kinds/resources.js'
import { decodeDocuments, type ReadFile } from './read-documents.js'

/** What is in force of a file. */
export interface FileRecord {
  readonly resources: readonly DecodedResource[]
  readonly problems: readonly Problem[]
  readonly notes: readonly Problem[]
  /** Problems of documents that have never decoded: nothing of them is in force. */
  readonly undecoded: readonly Problem[]
  readonly documents: ReadonlyMap<string, DecodedDocument>
  /** Set if the system could not read the file, which may pass without a change of the file. */
  readonly unread?: true
}

/** A document, keyed in FileRecord.documents by the hash of its text. */
interface DecodedDocument {
  readonly line: number
  readonly decoded: Decoded
}

/** The record of a file that was never read. */
export const EMPTY_RECORD: FileRecord = {
  resources: [],
  problems: [],
  notes: [],
  undecoded: [],
  documents: new Map(),
}

/** Decodes the bytes of a file; file is the name that messages use. */
export const decodeFile = (
  bytes: Uint8Array,
  file: string,
  kinds: readonly Kind[],
  previous = EMPTY_RECORD,
): FileRecord =>
  recordOf(decodeDocuments(bytes, file, kinds, previous.documents), file, kinds, previous)

/** Builds the record of a file from what was read of it. Documents that previous knows are not decoded again. */
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

/** Returns the record of a file that cannot be read as a whole: everything it gave before stays. */
function brokenFile(file: string, message: string, previous = EMPTY_RECORD): FileRecord {
  const problem = { source: file, message }
  const decoded = { resources: [], problems: [problem], notes: [] }
  return { ...keepLastGood(decoded, previous, new Set()), documents: previous.documents }
}

/** Adds the last good versions of broken documents; known has the names of all kinds. */
function keepLastGood(
  decoded: Decoded,
  previous: FileRecord,
  known: ReadonlySet<string>,
): Omit<FileRecord, 'documents'> {
  const present = new Set(decoded.resources.map(({ resource }) => resourceKeyOf(resource)))
  const keysOf = (problem: Problem) => possibleKeys(problem, known)
  const broken = new Set(decoded.problems.flatMap(keysOf))
  const absent = previous.resources.filter(({ resource }) => !present.has(resourceKeyOf(resource)))
  // A document without a readable name may have been any of the missing resources, so all of them stay.
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

/**
 * Returns the keys of resources that the document may have been before; undefined stands for any. An unknown kind may
 * stand for any kind.
 */
function possibleKeys(
  { kind, namespace, name }: Problem,
  known: ReadonlySet<string>,
): readonly (string | undefined)[] {
  if (kind === undefined || name === undefined) return [undefined]
  const kinds = known.has(kind) ? [kind] : [...known]
  return kinds.map((each) => resourceKey(each, namespace, name))
}

/** Moves the positions of a document that moved within its file; its decoded specs stay the same objects. */
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
