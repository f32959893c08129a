// Parses JSON text into values with their places, strictly: no duplicate members, limited depth. Changes are written
// into the text itself, so everything else stays the same, byte for byte.

import { err, ok, type Result } from '../result.js'
import { joinTexts, type Pace, type Work } from '../turns.js'
import { decodeUtf8, decodeUtf8InTurns } from '../utf8.js'
import type { JsonNode, JsonProblem, Span } from './json-node.js'
import { JsonReader } from './json-reader.js'
import { type Keeps, Malformed } from './keeps.js'

/** Places are UTF-16 offsets into the text: start inclusive, end exclusive, quotes included. */
export interface JsonText {
  readonly text: string
  readonly root: JsonNode
  /** Number of all values, including the scalars of long lists. */
  readonly values: number
  /** Whether no string or name has half of a surrogate pair. */
  readonly isWellFormed: boolean
}

/** What is wrong with a request with half of a surrogate pair: servers and webhooks fail at it, each in its own way. */
export const ILL_FORMED =
  'it has half of a surrogate pair (\\ud800 to \\udfff), which is no character'

/** Reads without a pause; for short texts. */
export function readJson(bytes: Uint8Array): Result<JsonText, JsonProblem> {
  const text = decodeUtf8(bytes)
  return text === undefined ? err('not UTF-8') : readJsonText(text)
}

/** Reads a text at once. */
export function readJsonText(text: string): Result<JsonText, JsonProblem> {
  const reader = new JsonReader(text)
  return read(reader, text, Infinity) ?? err('not JSON')
}

/** Work done without a pause, in characters: about a millisecond. */
export const SLICE = 128 * 1024

/** Reads bytes as cooperative work. */
export function* readJsonInTurns(
  bytes: Uint8Array,
  keeps: Keeps = {},
): Work<Result<JsonText, JsonProblem>> {
  const text = yield* decodeUtf8InTurns(bytes)
  return text === undefined ? err('not UTF-8') : yield* readJsonTextInTurns(text, keeps)
}

/** Reads a text as cooperative work. */
export function* readJsonTextInTurns(
  text: string,
  keeps: Keeps = {},
): Work<Result<JsonText, JsonProblem>> {
  const reader = new JsonReader(text, keeps)
  for (;;) {
    const result = read(reader, text, SLICE)
    if (result !== undefined) return result
    yield
  }
}

/** undefined: not finished yet. */
function read(
  reader: JsonReader,
  text: string,
  work: number,
): Result<JsonText, JsonProblem> | undefined {
  try {
    const root = reader.read(work)
    return root && ok({ text, root, values: reader.values, isWellFormed: reader.isWellFormed })
  } catch (error) {
    if (error instanceof Malformed) return err(error.problem)
    throw error
  }
}

/** A replacement in a text. */
export interface Edit extends Span {
  /** The replacement, as JSON text; may be empty. */
  readonly json: string
}

/** Returns the text with the edits, which may be in any order, but without overlaps. */
export function* applyEdits(text: string, edits: readonly Edit[], pace: Pace): Work<string> {
  if (pace.isDue(edits.length / SORTED)) yield
  const pieces: string[] = []
  let from = 0
  for (const { start, end, json } of edits.toSorted((a, b) => a.start - b.start)) {
    if (pace.isDue()) yield
    pieces.push(text.slice(from, start), json)
    from = end
  }
  pieces.push(text.slice(from))
  return yield* joinTexts(pieces, pace)
}

/** Number of edits that are sorted in the time of looking at one JSON value: they are nearly in order. */
const SORTED = 8
