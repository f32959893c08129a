// Splits the text of a file into YAML (or JSON) documents, and parses a document into plain values with positions.

import type { Document, Node, YAMLMap } from 'yaml'
import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml'
import type { FieldPath } from '../kinds/field-path.js'

const MAX_DEPTH = 100
/** Maximum number of keys in one map, and in all maps of a document. */
const MAX_MAP_KEYS = 10_000
const MAX_KEYS = 500_000

/** A piece of a file that holds one document. */
export interface DocumentText {
  readonly text: string
  /** The line of the file where it begins, from 1. */
  readonly line: number
}

/** Splits at "---" lines, which always start a new document. Drops pieces that contain only comments. */
export function splitDocuments(text: string): DocumentText[] {
  const documents: DocumentText[] = []
  let line = 1
  for (const piece of text.split(/^(?=---(?:[ \t\r\n]|$))/m)) {
    if (!isBare(piece)) documents.push({ text: piece, line })
    line += piece.split('\n').length - 1
  }
  return documents
}

/**
 * Whether the piece has only comments. Tests each line: one pattern for all would backtrack through every split of a
 * "####" banner into comments.
 */
const isBare = (piece: string): boolean =>
  piece
    .replace(/^---/, '')
    .split(/\r\n|\n|\r/)
    .every((line) => /^\s*(?:\.\.\.\s*)?(?:[#%].*)?$/.test(line))

/** A place in a file. */
export interface Position {
  readonly line: number
  readonly column: number
}

/** Why a document cannot be read. */
export interface Fault extends Position {
  readonly message: string
}

/** A document that could be read. */
export interface ParsedDocument {
  readonly value: unknown
  /** Returns the position of a field's value ("key": of its key), or of the nearest enclosing node if it has none. */
  readonly positionOf: (path: FieldPath, part: 'key' | 'value') => Position
  /** Returns the line of each entry of a list; none if there is no list, or an alias stands in its path. */
  readonly entryLines: (path: FieldPath) => readonly number[]
}

/** Parses a document. Never throws: invalid YAML, or YAML built to exhaust resources, yields faults. */
export function parseYaml({
  text,
  line,
}: DocumentText):
  | { readonly ok: true; readonly value: ParsedDocument }
  | { readonly ok: false; readonly error: Fault[] } {
  const lineCounter = new LineCounter()
  const at = (offset: number): Position => {
    const { line: inside, col } = lineCounter.linePos(offset)
    return { line: line - 1 + Math.max(inside, 1), column: Math.max(col, 1) }
  }
  try {
    const document = parseDocument(text, {
      prettyErrors: false,
      merge: true,
      stringKeys: true,
      logLevel: 'error',
      lineCounter,
      // The parser compares each key with all previous ones; findKeyFaults does it in linear time.
      uniqueKeys: false,
    })
    const faults = [...document.errors, ...document.warnings].map((error) => ({
      message: error.message,
      ...at(error.pos[0]),
    }))
    if (faults.length === 0)
      faults.push(
        ...findKeyFaults(document).map(({ message, offset }) => ({ message, ...at(offset) })),
      )
    if (faults.length > 0) return { ok: false, error: faults }
    const value: unknown = document.toJS({ maxAliasCount: 100 })
    const positionOf = (path: FieldPath, part: 'key' | 'value') =>
      at(offsetOf(document, path, part))
    const unfit = findUnfit(value, [])
    if (unfit !== undefined)
      return { ok: false, error: [{ message: unfit.message, ...positionOf(unfit.path, 'key') }] }
    const entryLines = (path: FieldPath) =>
      entriesOf(document, path).map((entry) => at(rangeStart(entry) ?? 0).line)
    return { ok: true, value: { value, positionOf, entryLines } }
  } catch (error) {
    // RangeError: stack overflow. ReferenceError: an alias without its anchor, or too many aliases.
    const message =
      error instanceof ReferenceError ? error.message : 'is nested too deeply or is not YAML'
    return { ok: false, error: [{ message, ...at(0) }] }
  }
}

interface KeyFault {
  readonly message: string
  readonly offset: number
}

/** Returns duplicate keys, or the first map that exceeds a limit. */
function findKeyFaults(document: Document): readonly KeyFault[] {
  const search: KeySearch = { twice: [], total: 0 }
  searchKeys(document.contents, search)
  return search.tooMany === undefined ? search.twice : [search.tooMany]
}

/** The search for faulty keys in a document, and what it has found so far. */
interface KeySearch {
  readonly twice: KeyFault[]
  /** Number of keys in the maps seen. */
  total: number
  /** Ends the search. */
  tooMany?: KeyFault
}

/** Walks the nodes itself: the library's visit() copies the path of each node. */
function searchKeys(node: unknown, search: KeySearch): void {
  if (search.tooMany !== undefined) return
  if (isSeq(node)) for (const item of node.items) searchKeys(item, search)
  if (!isMap(node)) return
  search.total += node.items.length
  if (search.total > MAX_KEYS || node.items.length > MAX_MAP_KEYS) {
    const [where, most] =
      search.total > MAX_KEYS ? ['the document', MAX_KEYS] : ['a map', MAX_MAP_KEYS]
    const message = `${where} has more than ${most} keys: split it`
    search.tooMany = { message, offset: rangeStart(node) ?? 0 }
    return
  }
  search.twice.push(...duplicateKeys(node))
  for (const { key, value } of node.items) {
    searchKeys(key, search)
    searchKeys(value, search)
  }
}

function duplicateKeys({ items }: YAMLMap): readonly KeyFault[] {
  const keys = new Set<unknown>()
  return items.flatMap(({ key }) => {
    const { size } = keys
    keys.add(isScalar(key) ? key.value : key)
    if (keys.size > size) return []
    return [{ message: 'Map keys must be unique', offset: rangeStart(key) ?? 0 }]
  })
}

/** Whether the text has a lone surrogate: neither UTF-8 nor a message to Envoy can hold one. */
const isIllFormed = (text: string): boolean => /\p{Surrogate}/u.test(text)

const ILL_FORMED = 'has half of a surrogate pair (\\ud800 to \\udfff), which is no character'

/**
 * Finds a value that later steps must not see: a cycle or excessive depth, a "__proto__" key, or text that cannot be
 * encoded as UTF-8.
 */
function findUnfit(
  value: unknown,
  path: FieldPath,
): { readonly message: string; readonly path: FieldPath } | undefined {
  if (typeof value === 'string' && isIllFormed(value)) return { message: ILL_FORMED, path }
  if (typeof value !== 'object' || value === null) return undefined
  if (path.length > MAX_DEPTH)
    return { message: `is nested more than ${MAX_DEPTH} levels deep`, path }
  for (const [key, inner] of Object.entries(value)) {
    const innerPath = [...path, Array.isArray(value) ? Number(key) : key]
    if (isIllFormed(key)) return { message: ILL_FORMED, path: innerPath }
    if (key === '__proto__') return { message: '"__proto__" cannot be a key', path: innerPath }
    const unfit = findUnfit(inner, innerPath)
    if (unfit !== undefined) return unfit
  }
  return undefined
}

function offsetOf(document: Document, path: FieldPath, part: 'key' | 'value'): number {
  let node: unknown = document.contents
  let offset = rangeStart(node) ?? 0
  for (const [index, step] of path.entries()) {
    if (isAlias(node)) node = node.resolve(document)
    const found = child(node, step)
    if (found === undefined) return offset
    const isLast = index === path.length - 1
    const place = isLast && part === 'key' ? found.key : found.value
    offset = rangeStart(place) ?? rangeStart(found.key) ?? offset
    node = found.value
  }
  return offset
}

/** Follows no alias: each would be looked for in the whole document. */
function entriesOf(document: Document, path: FieldPath): readonly unknown[] {
  const node = path.reduce<unknown>((inner, step) => child(inner, step)?.value, document.contents)
  return isSeq(node) ? node.items : []
}

function child(
  node: unknown,
  step: PropertyKey,
): { readonly key: unknown; readonly value: unknown } | undefined {
  if (isSeq(node)) {
    const value: unknown = node.items[Number(step)]
    return value === undefined ? undefined : { key: value, value }
  }
  if (!isMap(node)) return undefined
  const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(step))
  return pair === undefined ? undefined : { key: pair.key, value: pair.value }
}

const rangeStart = (node: unknown): number | undefined =>
  (node as Partial<Node> | null | undefined)?.range?.[0]
