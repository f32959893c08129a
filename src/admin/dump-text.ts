// Writes JSON in pieces, the config dump redacted: with thousands of routes it is 70 MB, and the status is 8 MB, which
// would block the event loop.

import type { LazyJson, LazyJsonObject } from '../ir/json.js'
import { shownMembers } from './redact.js'

/** Least length of a piece, in characters: a millisecond or two of work. */
const PIECE = 64 * 1024

type Item = readonly [name: string | undefined, value: LazyJson]

interface Output {
  text: string
  readonly membersOf: (object: LazyJsonObject) => readonly Item[]
}

/** Yields the text that JSON.stringify(dump, null, 2) would return, redacted, with a final newline. */
export const dumpText = (dump: LazyJson): Generator<string, void, undefined> =>
  textOf(dump, shownMembers)

/** Yields the same of JSON that has no secrets. */
export const jsonText = (json: LazyJson): Generator<string, void, undefined> =>
  textOf(json, Object.entries<LazyJson>)

function* textOf(
  json: LazyJson,
  membersOf: Output['membersOf'],
): Generator<string, void, undefined> {
  const output: Output = { text: '', membersOf }
  yield* write(output, json, '\n')
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
  else yield* writeItems(output, '{}', output.membersOf(json), margin)
}

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
