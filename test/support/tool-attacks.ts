// Requests that call the tool `forbidden`, at least for some parsers: valid calls, mutated as an attacker would.

import { deflateSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'

export interface Attack {
  readonly method: string
  /** Names and values alternately. */
  readonly headers: readonly string[]
  readonly body: Buffer
  /** Size of the body's chunks in bytes; 0 sends it whole, with a content-length. */
  readonly chunk: number
}

const VERSION = 'io.modelcontextprotocol/protocolVersion'

const call = (name: string, more: object = {}): Record<string, unknown> => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: {}, ...more },
})

const ping = { jsonrpc: '2.0', id: 2, method: 'ping' }
const modern = {
  _meta: { [VERSION]: '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} },
}
const older = { _meta: { [VERSION]: '2025-11-25' } }

/** JSON texts that call `forbidden`. */
const texts: readonly string[] = [
  call('forbidden'),
  call('forbidden', modern),
  call('forbidden', older),
  { ...call('forbidden'), result: {} },
  [call('forbidden')],
  [ping, call('allowed'), call('forbidden')],
  [[call('forbidden')]],
  { ...ping, params: { ...call('forbidden') } },
  { jsonrpc: '2.0', method: 'tools/call', params: { name: 'forbidden' } },
  { ...call('forbidden'), id: null },
  { ...call('forbidden'), id: 1.5 },
  { ...call('forbidden'), params: [{ name: 'forbidden' }] },
  call('allowed', { arguments: { name: 'forbidden' } }),
].map((value) => JSON.stringify(value))

/** Mutations of a text; the comments name the parsers that they target. */
const mutations: readonly ((text: string) => string)[] = [
  // Parsers that take the last, or the first, of two members.
  (text) => text.replace('"name":"forbidden"', '"name":"allowed","name":"forbidden"'),
  (text) => text.replace('"name":"forbidden"', '"name":"forbidden","name":"allowed"'),
  (text) => text.replace('"name":"forbidden"', '"name":"allowed","n\\u0061me":"forbidden"'),
  (text) => text.replace('"params":', '"params":{"name":"allowed"},"params":'),
  (text) => text.replace('"method":"tools/call"', '"method":"ping","method":"tools/call"'),
  (text) => text.replace('"method":"tools/call"', '"method":"tools/call","method":"ping"'),
  // Case-insensitive parsers.
  (text) => text.replace('"name":"forbidden"', '"name":"allowed","Name":"forbidden"'),
  (text) => text.replace('"method"', '"METHOD"'),
  (text) => text.replace('"params":', '"Params":{"name":"allowed"},"params":'),
  // Escapes and prototypes.
  (text) => text.replaceAll('forbidden', 'forb\\u0069dden'),
  (text) => text.replaceAll('tools/call', 'tools\\/call'),
  (text) => text.replaceAll('"method"', '"\\u006dethod"'),
  (text) => text.replace('"name":"forbidden"', '"__proto__":{"name":"forbidden"}'),
  (text) => text.replace('"name":"forbidden"', '"name":"allowed","__proto__":{"name":"forbidden"}'),
  (text) => `{"jsonrpc":"2.0","id":1,"__proto__":${text}}`,
  // Names that some parser could trim or normalise.
  (text) => text.replaceAll('forbidden', ' forbidden'),
  (text) => text.replaceAll('forbidden', 'forbidden\\u0000'),
  (text) => text.replaceAll('forbidden', 'FORBIDDEN'),
  (text) => text.replaceAll('forbidden', 'ｆorbidden'),
  (text) => text.replaceAll('tools/call', 'Tools/Call'),
  (text) => text.replaceAll('tools/call', 'tools/call '),
  // Text around a message.
  (text) => `\ufeff${text}`,
  (text) => ` \n\t${text}\r\n`,
  (text) => `${text}${text}`,
  (text) => `${JSON.stringify(ping)}\n${text}`,
  (text) => `${text}\0`,
  (text) => `${text}//`,
  (text) => `[${text}]`,
  (text) => `[${text},]`,
  (text) => `data: ${text}\n\n`,
  (text) => `)]}'\n${text}`,
  // Values that only some parsers accept.
  (text) => text.replace('"id":1', '"id":NaN'),
  (text) => text.replace('"id":1', '"id":Infinity'),
  (text) => text.replace('"id":1', '"id":1e400'),
  (text) => text.replace('"id":1', '"id":0x1'),
  (text) => text.replaceAll('"', "'"),
  (text) => text.replace('{', `{"pad":${JSON.stringify('x'.repeat(200_000))},`),
  (text) => text.replace('{', `{"pad":${'['.repeat(90)}${']'.repeat(90)},`),
  (text) => text.replace('{', `{"pad":[${'{},'.repeat(30_000)}{}],`),
]

/** A text encoding with the charset that declares it. */
type Encoding = readonly [charset: string | undefined, encode: (text: string) => Buffer]
const encodings: readonly [Encoding, ...Encoding[]] = [
  [undefined, (text) => Buffer.from(text)],
  ['utf-8', (text) => Buffer.from(text)],
  ['utf-16le', (text) => Buffer.from(text, 'utf16le')],
  ['utf-16', (text) => Buffer.from(`\ufeff${text}`, 'utf16le')],
  ['utf-16be', (text) => Buffer.from(text, 'utf16le').swap16()],
  ['utf-7', (text) => Buffer.from(text.replaceAll('forbidden', '+AGY-orbidden'))],
  [
    'utf-7',
    (text) =>
      Buffer.from(text.replaceAll('"forbidden"', '"allowed+ACI-,+ACI-name+ACI-:+ACI-forbidden"')),
  ],
  ['iso-8859-1', (text) => Buffer.from(text, 'latin1')],
  [undefined, (text) => Buffer.from(text, 'utf16le')],
  [undefined, (text) => Buffer.from(`\ufeff${text}`, 'utf16le')],
  [undefined, (text) => Buffer.from(text.replaceAll('forbidden', '\xc1\xa6orbidden'), 'latin1')],
]

const types: readonly [string, ...string[]] = [
  'application/json',
  'APPLICATION/JSON',
  'application/json, text/plain',
  'application/vnd.api+json',
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
]

type Compression = readonly [encoding: string | undefined, compress: (body: Buffer) => Buffer]
const compressions: readonly [Compression, ...Compression[]] = [
  [undefined, (body) => body],
  ['gzip', gzipSync],
  ['deflate', deflateSync],
  ['identity', (body) => body],
  ['identity, gzip', gzipSync],
]

const extraHeaders: readonly [readonly string[], ...(readonly string[])[]] = [
  [],
  ['mcp-method', 'tools/call', 'mcp-name', 'forbidden', 'mcp-protocol-version', '2026-07-28'],
  ['mcp-method', 'tools/call', 'mcp-name', 'allowed', 'mcp-protocol-version', '2026-07-28'],
  ['mcp-method', 'ping', 'mcp-protocol-version', '2025-11-25'],
  ['mcp-name', '=?base64?YWxsb3dlZA==?='],
  ['mcp-protocol-version', '2025-03-26'],
  ['mcp-protocol-version', '2025-06-18'],
  ['mcp-protocol-version', '2025-03-26', 'mcp-protocol-version', '2026-07-28'],
  ['x-http-method-override', 'POST'],
  ['expect', '100-continue'],
  ['x-envoy-auth-partial-body', 'false'],
  ['content-type', 'application/json; charset=utf-16le'],
  ['connection', 'upgrade', 'upgrade', 'websocket'],
]

/** Prefers the first value: if every part is unusual, hardly any server accepts the request. */
const mostlyFirst = <T>(first: T, ...others: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof(
    { weight: 5, arbitrary: fc.constant(first) },
    { weight: 1, arbitrary: fc.constantFrom(first, ...others) },
  )

const parts = fc.record({
  text: fc.constantFrom(...texts),
  mutations: fc.array(fc.constantFrom(...mutations), { maxLength: 2 }),
  encoding: mostlyFirst(...encodings),
  type: mostlyFirst(...types),
  compression: mostlyFirst(...compressions),
  extra: mostlyFirst(...extraHeaders),
  method: mostlyFirst('POST', 'PUT', 'PATCH', 'GET', 'DELETE', 'post'),
  chunk: fc.constantFrom(0, 0, 1024, 65_536),
})

export const attacks: fc.Arbitrary<Attack> = parts.map(
  ({ text, mutations: changes, encoding, type, compression, extra, method, chunk }) => {
    const [charset, encode] = encoding
    const [contentEncoding, compress] = compression
    const mutated = changes.reduce((before, change) => change(before), text)
    const body = compress(encode(mutated))
    const headers = [
      'content-type',
      charset === undefined ? type : `${type}; charset=${charset}`,
      'accept',
      'application/json, text/event-stream',
      ...(contentEncoding === undefined ? [] : ['content-encoding', contentEncoding]),
      ...extra,
    ]
    return { method, headers, body, chunk }
  },
)
