// The bytes of one file, and what it gave before → what it gives now: a document that does not decode
// leaves its last good version in force (decision 27), and one that did not change is not decoded again.

import {
  decodeDocument,
  joinDecoded,
  type Decoded,
  type DecodedResource,
} from '../decode/decode.js'
import type { Kind } from '../kinds/kinds.js'
import { resourceKeyOf, resourceKey } from '../decode/resource-set.js'
import type { Problem } from '../kinds/resources.js'
import { splitDocuments } from '../decode/yaml-document.js'

const MAX_DOCUMENTS = 20_000
export const MAX_FILE_BYTES = 32 * 1024 * 1024

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

/** By its text, in FileRecord.documents. */
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
): FileRecord => {
  if (bytes.length > MAX_FILE_BYTES)
    return brokenFile(file, `is larger than ${MAX_FILE_BYTES} bytes`, previous)
  const text = decodeUtf8(bytes)
  if (text === undefined) return brokenFile(file, 'is not UTF-8 text', previous)
  const pieces = splitDocuments(text)
  if (pieces.length > MAX_DOCUMENTS)
    return brokenFile(file, `has more than ${MAX_DOCUMENTS} documents`, previous)
  const documents = new Map<string, DecodedDocument>()
  const parts = pieces.map((piece) => {
    const before = previous.documents.get(piece.text)
    const decoded =
      before === undefined
        ? decodeDocument(piece, file, kinds)
        : moveLines(before.decoded, piece.line - before.line)
    documents.set(piece.text, { line: piece.line, decoded })
    return decoded
  })
  const known = new Set(kinds.map(({ kind }) => kind))
  return { ...keepLastGood(joinDecoded(parts), previous, known), documents }
}

/** A file that cannot be read as a whole: everything it gave before stays. */
export const brokenFile = (file: string, message: string, previous = EMPTY_RECORD): FileRecord => {
  const problem = { source: file, message }
  const decoded = { resources: [], problems: [problem], notes: [] }
  return { ...keepLastGood(decoded, previous, new Set()), documents: previous.documents }
}

const decodeUtf8 = (bytes: Uint8Array): string | undefined => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** known: the kinds that there are. */
const keepLastGood = (
  decoded: Decoded,
  previous: FileRecord,
  known: ReadonlySet<string>,
): Omit<FileRecord, 'documents'> => {
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
const possibleKeys = (
  { kind, namespace, name }: Problem,
  known: ReadonlySet<string>,
): readonly (string | undefined)[] => {
  if (kind === undefined || name === undefined) return [undefined]
  const kinds = known.has(kind) ? [kind] : [...known]
  return kinds.map((each) => resourceKey(each, namespace, name))
}

/** Positions follow a document that moved within its file; what was decoded from it stays the same objects. */
const moveLines = (decoded: Decoded, lines: number): Decoded => {
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
