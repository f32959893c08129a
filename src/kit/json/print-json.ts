// Prints values as JSON text, in slices: a body may hold one string of megabytes, or tens of thousands of short ones.

import { joinTexts, Pace, PIECE, piecesOf, unitsOf, type Work } from '../turns.js'
import type { JsonNode } from './json-node.js'

/** Prints the same JSON without spaces and without unnecessary escapes: what a reader would search. */
export function* plainJson(node: JsonNode, text: string, pace = new Pace()): Work<string> {
  const out: string[] = []
  yield* print(node, text, pace, out)
  return yield* joinTexts(out, pace)
}

function* print(node: JsonNode, text: string, pace: Pace, out: string[]): Work<void> {
  if (pace.isDue()) yield
  switch (node.type) {
    case 'object': {
      let mark = '{'
      for (const [name, value] of node.members) {
        out.push(mark, yield* quoted(name, pace), ':')
        yield* print(value, text, pace, out)
        mark = ','
      }
      out.push(mark === '{' ? '{}' : '}')
      return
    }
    case 'array':
      return node.isCut
        ? yield* printCut(node, text, pace, out)
        : yield* printItems(node, text, pace, out)
    case 'string':
      out.push(yield* quoted(node.value, pace))
      return
    default:
      out.push(text.slice(node.start, node.end))
  }
}

type ArrayNode = Extract<JsonNode, { readonly type: 'array' }>

function* printItems({ items }: ArrayNode, text: string, pace: Pace, out: string[]): Work<void> {
  out.push('[')
  for (const [index, item] of items.entries()) {
    if (index > 0) out.push(',')
    yield* print(item, text, pace, out)
  }
  out.push(']')
}

/** Prints an array that holds only scalars: it contains no strings, so all its blanks can be removed. */
function* printCut({ start, end }: ArrayNode, text: string, pace: Pace, out: string[]): Work<void> {
  for (let at = start; at < end; at += PIECE) {
    // Looking at each character costs more than copying a piece.
    if (pace.isDue(unitsOf(4 * PIECE))) yield
    out.push(withoutBlanks(text.slice(at, Math.min(at + PIECE, end))))
  }
}

/** Works on bytes: String.replace() would build a string with a node for each blank. scalars: ASCII. */
function withoutBlanks(scalars: string): string {
  const bytes = Buffer.from(scalars, 'latin1')
  let length = 0
  for (const byte of bytes) {
    if (byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d) continue
    bytes[length] = byte
    length += 1
  }
  return bytes.toString('latin1', 0, length)
}

/** Prints a string as JSON. */
export function* quoted(text: string, pace: Pace): Work<string> {
  if (text.length <= PIECE) {
    if (pace.isDue(unitsOf(text.length))) yield
    return JSON.stringify(text)
  }
  const out = ['"']
  for (const piece of piecesOf(text)) {
    if (pace.isDue(unitsOf(piece.length))) yield
    out.push(JSON.stringify(piece).slice(1, -1))
  }
  if (pace.isDue(unitsOf(text.length))) yield
  out.push('"')
  return out.join('')
}
