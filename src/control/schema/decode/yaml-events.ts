// Reads the YAML documents that people and tools usually write: maps with plain string keys, lists and scalars. The events
// of js-yaml cost a fifth of what the nodes of yaml-nodes.ts cost, which reads all others and says what is wrong.

import {
  constructFromEvents,
  CORE_SCHEMA,
  type Event,
  EVENT_ID,
  getScalarValue,
  parseEvents,
  SCALAR_STYLE,
  type ScalarEvent,
} from 'js-yaml'
import type { FieldPath } from '../kinds/field-path.js'
import {
  type DocumentText,
  MAX_DEPTH,
  MAX_KEYS,
  MAX_MAP_KEYS,
  type Position,
} from './yaml-document.js'

/** In characters. The events of a document take up to a hundred times as many bytes. */
const MAX_LENGTH = 1024 * 1024

/** A carriage return of its own, or blanks at the very end: one library sees a line there, the other does not. */
const UNUSUAL_TEXT = /\r(?!\n)|[\t ]$/

/** A document of a usual form. */
export interface UsualDocument {
  readonly value: unknown
  /** Where its value begins. */
  readonly start: Position
  /** Returns the line of each entry of a list; none if there is no list, undefined if one of its entries is empty. */
  readonly entryLines: (path: FieldPath) => readonly number[] | undefined
}

/**
 * Reads a document. Returns undefined for one that is no map, that has an anchor, alias, tag or merge key, a key that could be anything but
 * a string, too many keys, or a fault.
 */
export function readUsual({ text, line }: DocumentText): UsualDocument | undefined {
  if (text.length > MAX_LENGTH || UNUSUAL_TEXT.test(text)) return undefined
  try {
    const events = parseEvents(text, { maxDepth: MAX_DEPTH })
    if (!isUsual(events, text)) return undefined
    const [value] = constructFromEvents(events, { source: text, schema: CORE_SCHEMA })
    const offset = startOf(events[ROOT])
    if (offset === undefined) return undefined
    return {
      value,
      start: {
        line: line + newlines(text, 0, offset),
        column: offset - text.lastIndexOf('\n', offset - 1),
      },
      entryLines: (path) => linesOfEntries(events, text, path)?.map((inside) => line + inside),
    }
  } catch {
    return undefined
  }
}

/** The first event is that of the document, the second that of its value. */
const ROOT = 1

/** A list or map whose end was not reached. */
interface Open {
  readonly isMap: boolean
  /** Number of its keys and values so far, or of its items. */
  nodes: number
}

function isUsual(events: readonly Event[], text: string): boolean {
  if (events[ROOT]?.type !== EVENT_ID.MAPPING) return false
  const open: Open[] = []
  let keys = 0
  for (const [index, event] of events.entries()) {
    if (event.type === EVENT_ID.POP) {
      open.pop()
      continue
    }
    if (event.type === EVENT_ID.DOCUMENT && index > 0) return false
    if (isReference(event)) return false
    const parent = open.at(-1)
    if (parent !== undefined && isKey(parent)) {
      keys += 1
      if (keys > MAX_KEYS || parent.nodes >= 2 * MAX_MAP_KEYS) return false
      if (!isTextKey(event, text)) return false
    }
    if (parent !== undefined) parent.nodes += 1
    if (event.type !== EVENT_ID.SCALAR)
      open.push({ isMap: event.type === EVENT_ID.MAPPING, nodes: 0 })
  }
  return true
}

const isKey = ({ isMap, nodes }: Open): boolean => isMap && nodes % 2 === 0

/** Whether a node is an alias, or has an anchor or a tag. */
const isReference = (event: Event): boolean =>
  event.type === EVENT_ID.ALIAS ||
  ('tagStart' in event && (event.tagStart >= 0 || event.anchorStart >= 0))

/** Whether a key is a string in every schema of YAML, and no merge key. */
function isTextKey(event: Event, text: string): boolean {
  if (event.type !== EVENT_ID.SCALAR) return false
  const { style, valueStart, valueEnd } = event
  if (style === SCALAR_STYLE.SINGLE_QUOTED || style === SCALAR_STYLE.DOUBLE_QUOTED) return true
  if (style !== SCALAR_STYLE.PLAIN || valueStart < 0) return false
  const key = text.slice(valueStart, valueEnd)
  return /^[A-Z_a-z][\w./-]*$/.test(key) && !/^(?:null|true|false)$/i.test(key)
}

function linesOfEntries(
  events: readonly Event[],
  text: string,
  path: FieldPath,
): readonly number[] | undefined {
  const list = nodeAt(events, text, path)
  if (list === undefined || events[list]?.type !== EVENT_ID.SEQUENCE) return []
  const lines: number[] = []
  let [before, line] = [0, 0]
  for (const entry of childrenOf(events, list)) {
    const offset = startOf(events[entry])
    if (offset === undefined) return undefined
    line += newlines(text, before, offset)
    before = offset
    lines.push(line)
  }
  return lines
}

/** Returns the index of the event that begins the node. */
function nodeAt(events: readonly Event[], text: string, path: FieldPath): number | undefined {
  let node: number | undefined = ROOT
  for (const step of path) {
    if (node === undefined) return undefined
    const children: readonly number[] = [...childrenOf(events, node)]
    node =
      events[node]?.type === EVENT_ID.MAPPING
        ? valueOf(step, children, events, text)
        : children[Number(step)]
  }
  return node
}

/** @param children the keys and values of a map. */
function valueOf(
  key: PropertyKey,
  children: readonly number[],
  events: readonly Event[],
  text: string,
): number | undefined {
  const isIt = (index: number, place: number) =>
    place % 2 === 0 && getScalarValue(text, events[index] as ScalarEvent) === key
  const place = children.findIndex(isIt)
  return place < 0 ? undefined : children[place + 1]
}

/** Yields the indexes of the events that begin the nodes of a collection. */
function* childrenOf(events: readonly Event[], collection: number): Generator<number> {
  if (!isOpening(events[collection])) return
  let depth = 0
  for (let index = collection + 1; index < events.length; index += 1) {
    const event = events[index]
    if (event?.type === EVENT_ID.POP) {
      depth -= 1
      if (depth < 0) return
      continue
    }
    if (depth === 0) yield index
    if (isOpening(event)) depth += 1
  }
}

const isOpening = (event: Event | undefined): boolean =>
  event?.type === EVENT_ID.SEQUENCE || event?.type === EVENT_ID.MAPPING

/** Returns the offset of a node; undefined if it is empty. */
function startOf(event: Event | undefined): number | undefined {
  if (event === undefined || event.type === EVENT_ID.POP || event.type === EVENT_ID.DOCUMENT)
    return undefined
  if (event.type === EVENT_ID.ALIAS) return event.anchorStart
  if (event.type !== EVENT_ID.SCALAR) return event.start
  if (event.valueStart < 0) return undefined
  // The quote, or the line of the "|" of a block.
  return event.style === SCALAR_STYLE.PLAIN ? event.valueStart : event.valueStart - 1
}

/** Counts the newlines between two offsets. */
function newlines(text: string, from: number, to: number): number {
  let count = 0
  for (let at = text.indexOf('\n', from); at >= 0 && at < to; at = text.indexOf('\n', at + 1))
    count += 1
  return count
}
