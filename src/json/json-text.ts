// JSON text → its values with the places where they stand, strictly: no member twice, no depth without end. A change
// is written into the text itself, so that everything else stays as it was, byte for byte.

import { err, ok, type Result } from '../result.js'
import { nextTurn, type Work } from '../turns.js'
import { decodeUtf8, decodeUtf8InTurns } from '../utf8.js'
import type { JsonNode, JsonProblem, Span } from './json-node.js'
import { JsonReader, Malformed } from './json-reader.js'

/** Places are UTF-16 offsets into the text: start inclusive, end exclusive, quotes included. */
export interface JsonText {
  readonly text: string
  readonly root: JsonNode
  /** How many there are in all, scalars of long lists included. */
  readonly values: number
}

/** All at once: for what is short. */
export function readJson(bytes: Uint8Array): Result<JsonText, JsonProblem> {
  const text = decodeUtf8(bytes)
  return text === undefined ? err('not UTF-8') : readJsonText(text)
}

export function readJsonText(text: string): Result<JsonText, JsonProblem> {
  const reader = new JsonReader(text)
  return read(reader, text, Infinity) ?? err('not JSON')
}

/** Work that is done without a pause, in characters: a millisecond or so. */
export const SLICE = 128 * 1024

/** Gives everybody else a turn after each slice. What is short is read without a pause. */
export async function readJsonInSlices(
  bytes: Uint8Array,
  pause = nextTurn,
): Promise<Result<JsonText, JsonProblem>> {
  return inSlices(readJsonInTurns(bytes), pause)
}

export async function readJsonTextInSlices(
  text: string,
  pause = nextTurn,
): Promise<Result<JsonText, JsonProblem>> {
  return inSlices(readJsonTextInTurns(text), pause)
}

async function inSlices<T>(work: Work<T>, pause: () => Promise<void>): Promise<T> {
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
    await pause()
  }
}

/** The same, among other work. */
export function* readJsonInTurns(bytes: Uint8Array): Work<Result<JsonText, JsonProblem>> {
  const text = yield* decodeUtf8InTurns(bytes)
  return text === undefined ? err('not UTF-8') : yield* readJsonTextInTurns(text)
}

export function* readJsonTextInTurns(text: string): Work<Result<JsonText, JsonProblem>> {
  const reader = new JsonReader(text)
  for (;;) {
    const result = read(reader, text, SLICE)
    if (result !== undefined) return result
    yield
  }
}

/** undefined: there is more to do. */
function read(
  reader: JsonReader,
  text: string,
  work: number,
): Result<JsonText, JsonProblem> | undefined {
  try {
    const root = reader.read(work)
    return root && ok({ text, root, values: reader.values })
  } catch (error) {
    if (error instanceof Malformed) return err(error.problem)
    throw error
  }
}

export interface Edit extends Span {
  /** JSON. */
  readonly json: string
}

/** edits: they do not overlap; in any order. */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  const pieces: string[] = []
  let from = 0
  for (const { start, end, json } of [...edits].sort((a, b) => a.start - b.start)) {
    pieces.push(text.slice(from, start), json)
    from = end
  }
  pieces.push(text.slice(from))
  return pieces.join('')
}
