// Joins encoded messages into fields of another message: a protobuf message is the concatenation of its fields in any
// order.

import type { DescMessage } from '@bufbuild/protobuf'
import { type Encoded, hashOf } from './encode.js'
import { joinShort, lengthOf } from './parts.js'

/** Returns a function that encodes what precedes the bytes of a field: its number, its wire type and their length. */
export function fieldPrefixOf(schema: DescMessage, field: string): (length: number) => Uint8Array {
  const number = schema.fields.find(({ name }) => name === field)?.number ?? 0
  const tag = varint(number * 8 + LENGTH_DELIMITED)
  const prefix = (length: number): Uint8Array => Uint8Array.from([...tag, ...varint(length)])
  const known: Uint8Array[] = []
  return (length) => (length < KNOWN ? (known[length] ??= prefix(length)) : prefix(length))
}

/** Lengths below are those of thousands of fields, and their prefixes are kept. */
const KNOWN = 2_048

const LENGTH_DELIMITED = 2

/** Returns a function that encodes a string field with its value, in parts. field is its name in Envoy's API. */
export function encodedStringOf(
  schema: DescMessage,
  field: string,
): (value: string) => readonly Uint8Array[] {
  const prefix = fieldPrefixOf(schema, field)
  return (value) => {
    const bytes = Buffer.from(value)
    return [prefix(bytes.length), bytes]
  }
}

const varint = (value: number): readonly number[] =>
  value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)]

/** Returns a function that encodes a repeated field with these messages. list is the field's name in Envoy's API. */
export function encodedElementsOf(
  schema: DescMessage,
  list: string,
): (messages: readonly Encoded[]) => Encoded {
  const prefix = fieldPrefixOf(schema, list)
  return (messages) => ({
    parts: joinShort(messages.flatMap(({ parts }) => [prefix(lengthOf(parts)), ...parts])),
    version: versionOfAll(messages),
  })
}

/** Joins a message with encoded fields that it does not have yet. */
export const joinFields = (own: Encoded, fields: readonly Encoded[]): Encoded =>
  fields.length === 0
    ? own
    : {
        parts: joinShort([own, ...fields].flatMap(({ parts }) => parts)),
        version: versionOfAll([own, ...fields]),
      }

const versionOfAll = (all: readonly Encoded[]): string =>
  hashOf(all.map(({ version }) => version).join(' '))
