// Writes JSON in pieces, the config dump redacted: with thousands of routes it is 70 MB, and the status is 8 MB, which
// would block the event loop.

import type { LazyJson, LazyJsonObject } from '../../model/json.js'

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

// Redacts members of the model that may hold secrets, for the config dump. Envoy's resources are already redacted
// (xds/translator/dump-xds.ts).

const REDACTED = '[redacted]'

/** Names of the model's members that hold private keys, keys and passwords. */
const SECRET_MEMBERS = new Set([
  'privateKey',
  'password',
  'client_secret',
  'clientSecret',
  'sealingKeys',
  'seal',
])
/** Members of key sets and public keys (RFC 7517 and 7518): a key set may contain private members by mistake. */
const PUBLIC_JWK_MEMBERS = new Set([
  'keys',
  'kty',
  'kid',
  'use',
  'key_ops',
  'alg',
  'crv',
  'n',
  'e',
  'x',
  'y',
  'pub',
  'x5u',
  'x5c',
  'x5t',
  'x5t#S256',
])
/** Members with expressions: a literal may be a secret that a caller must send or that a webhook is sent. */
const EXPRESSION_MEMBERS = new Set(['expression', 'deny', 'require', 'allow', 'when'])

/** Returns the members of an object as shown; nested objects are redacted when they are written. */
function shownMembers(
  object: LazyJsonObject,
): readonly (readonly [name: string, value: LazyJson])[] {
  const isJwk = typeof object['kty'] === 'string'
  // A header's name does not tell whether its value is a secret.
  const isNamed = typeof object['name'] === 'string' || typeof object['key'] === 'string'
  const isSecret = (member: string): boolean =>
    SECRET_MEMBERS.has(member) ||
    (isJwk && !PUBLIC_JWK_MEMBERS.has(member)) ||
    (isNamed && member === 'value')
  return Object.entries(object).map(([member, value]) => {
    if (isSecret(member)) return [member, REDACTED]
    if (member === 'jwks') return [member, publicParts(value)]
    return [member, EXPRESSION_MEMBERS.has(member) ? withoutTexts(value) : value]
  })
}

/** Redacts what is not known as public in a key set, whether or not it has the form of one. */
function publicParts(value: LazyJson): LazyJson {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return (value as readonly LazyJson[]).map(publicParts)
  return Object.fromEntries(
    Object.entries<LazyJson>(value as LazyJsonObject).map(([member, part]) => [
      member,
      PUBLIC_JWK_MEMBERS.has(member) ? publicParts(part) : REDACTED,
    ]),
  )
}

/** Redacts all strings; the length of a list still shows. */
function withoutTexts(value: LazyJson): LazyJson {
  if (typeof value === 'string') return REDACTED
  return Array.isArray(value) ? (value as readonly LazyJson[]).map(withoutTexts) : value
}
