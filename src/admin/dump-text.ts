// Writes the config dump as redacted text, in pieces: with thousands of routes it is 70 MB, which would block the event
// loop for seconds.

import type { LazyJson, LazyJsonObject } from '../ir/json.js'
import { shownMembers } from './redact.js'

/** Least length of a piece, in characters: a millisecond or two of work. */
const PIECE = 64 * 1024

interface Output {
  text: string
}

/** Yields the text that JSON.stringify(dump, null, 2) would return, with a final newline. */
export function* dumpText(dump: LazyJson): Generator<string, void, undefined> {
  const output: Output = { text: '' }
  yield* write(output, dump, '\n')
  yield `${output.text}\n`
}

/** margin: the newline and indentation of the line that value starts on. */
function* write(
  output: Output,
  value: LazyJson,
  margin: string,
): Generator<string, void, undefined> {
  const json = typeof value === 'function' ? value() : value
  if (typeof json === 'function') yield* write(output, json, margin)
  else if (typeof json !== 'object' || json === null) output.text += JSON.stringify(json)
  else if (isList(json)) yield* writeItems(output, '[]', unnamed(json), margin)
  else yield* writeItems(output, '{}', shownMembers(json), margin)
}

type Item = readonly [name: string | undefined, value: LazyJson]

const unnamed = (list: readonly LazyJson[]): readonly Item[] =>
  list.map((value) => [undefined, value])

function* writeItems(
  output: Output,
  [open = '', close = '']: string,
  items: readonly Item[],
  margin: string,
): Generator<string, void, undefined> {
  const inner = `${margin}  `
  let before = open
  for (const [name, value] of items) {
    // Absent members of the model may be undefined.
    if ((value as LazyJson | undefined) === undefined) continue
    output.text += before + inner
    if (name !== undefined) output.text += `${JSON.stringify(name)}: `
    yield* write(output, value, inner)
    before = ','
    if (output.text.length < PIECE) continue
    yield output.text
    output.text = ''
  }
  output.text += before === open ? open + close : margin + close
}

// Array.isArray does not narrow a readonly array.
const isList = (value: readonly LazyJson[] | LazyJsonObject): value is readonly LazyJson[] =>
  Array.isArray(value)
