// Parses a YAML document into nodes: any document, with the position of every field and of every fault.

import type { Document, ErrorCode, Node, YAMLError, YAMLMap } from 'yaml'
import { isAlias, isMap, isPair, isScalar, isSeq, LineCounter, parseDocument } from 'yaml'
import type { FieldPath } from '../kinds/field-path.js'
import { findUnfit } from './unfit-value.js'
import {
  type DocumentText,
  MAX_KEYS,
  MAX_MAP_KEYS,
  type ParsedYaml,
  type Position,
} from './yaml-document.js'

/** Parses a document. Never throws: invalid YAML, or YAML built to exhaust resources, yields faults. */
export function parseNodes({ text, line }: DocumentText): ParsedYaml {
  const lineCounter = new LineCounter()
  const at = (offset: number): Position => {
    const { line: inside, col } = lineCounter.linePos(offset)
    return { line: line - 1 + Math.max(inside, 1), column: Math.max(col, 1) }
  }
  let document: Document | undefined
  try {
    document = parseDocument(text, {
      prettyErrors: false,
      merge: true,
      stringKeys: true,
      logLevel: 'error',
      lineCounter,
      // The parser compares each key with all previous ones; findKeyFaults does it in linear time.
      uniqueKeys: false,
    })
    const faults = [...document.errors, ...document.warnings].map((error) => ({
      message: messageOf(error),
      ...at(error.pos[0]),
    }))
    if (faults.length === 0)
      faults.push(
        ...findKeyFaults(document).map(({ message, offset }) => ({ message, ...at(offset) })),
      )
    if (faults.length > 0) return { ok: false, error: faults }
    const value: unknown = document.toJS({ maxAliasCount: 100 })
    const parsed = document
    const positionOf = (path: FieldPath, part: 'key' | 'value') => at(offsetOf(parsed, path, part))
    const unfit = findUnfit(value, [])
    if (unfit !== undefined)
      return { ok: false, error: [{ message: unfit.message, ...positionOf(unfit.path, 'key') }] }
    const entryLines = (path: FieldPath) =>
      entriesOf(parsed, path).map((entry) => at(rangeStart(entry) ?? 0).line)
    return { ok: true, value: { value, positionOf, entryLines } }
  } catch (error) {
    // RangeError: stack overflow. ReferenceError: an alias without its anchor, or too many aliases.
    if (!(error instanceof ReferenceError))
      return { ok: false, error: [{ message: 'is nested too deeply or is not YAML', ...at(0) }] }
    const [, name] = UNRESOLVED.exec(error.message) ?? []
    const offset = name === undefined ? 0 : aliasOffset(document?.contents, name)
    return { ok: false, error: [{ message: withoutText(error.message), ...at(offset ?? 0) }] }
  }
}

/** Messages of the library's codes whose own ones quote the document anywhere. */
const MESSAGES: Readonly<Partial<Record<ErrorCode, string>>> = {
  BAD_DIRECTIVE: 'Unknown or incomplete directive',
  BAD_DQ_ESCAPE: 'Invalid escape sequence',
  TAG_RESOLVE_FAILED: 'Unresolved tag',
}

const messageOf = ({ code, message }: YAMLError): string => MESSAGES[code] ?? withoutText(message)

/** Cuts off what is quoted behind a colon: messages end up in logs, and it may be part of a secret. */
const withoutText = (message: string): string => message.replace(/(?<=\S):.*/s, '')

const UNRESOLVED = /^Unresolved alias \(.*\): (.*)$/s

/** Returns where the first alias of the name is, whose message has no position. Not recursive: nodes may be nested deeply. */
function aliasOffset(root: unknown, name: string): number | undefined {
  const waiting = [root]
  while (waiting.length > 0) {
    const node = waiting.pop()
    if (isAlias(node) && node.source === name) return rangeStart(node)
    if (isPair(node)) waiting.push(node.value, node.key)
    if (isMap(node) || isSeq(node)) for (const item of node.items.toReversed()) waiting.push(item)
  }
  return undefined
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
