// Joins encoded messages into fields of another message: a protobuf message is the concatenation of its fields in any
// order.

import type { DescMessage } from '@bufbuild/protobuf'
import { type Encoded, hashOf } from './encode.js'

/** Returns a function that encodes a repeated field with these messages. list is the field's name in Envoy's API. */
export function elementsOf(
  schema: DescMessage,
  list: string,
): (messages: readonly Uint8Array[]) => Buffer {
  const prefix = fieldPrefixOf(schema, list)
  return (messages) => Buffer.concat(messages.flatMap((bytes) => [prefix(bytes.length), bytes]))
}

/** Returns a function that encodes what precedes the bytes of a field: its number, its wire type and their length. */
export function fieldPrefixOf(schema: DescMessage, field: string): (length: number) => Uint8Array {
  const number = schema.fields.find(({ name }) => name === field)?.number ?? 0
  return (length) => Uint8Array.from([...varint(number * 8 + LENGTH_DELIMITED), ...varint(length)])
}

const LENGTH_DELIMITED = 2

const varint = (value: number): readonly number[] =>
  value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)]

/** Returns a function that encodes a repeated field like elementsOf(), with a version. */
export function encodedElementsOf(
  schema: DescMessage,
  list: string,
): (parts: readonly Encoded[]) => Encoded {
  const bytesOf = elementsOf(schema, list)
  return (parts) => ({
    bytes: bytesOf(parts.map(({ bytes }) => bytes)),
    version: versionOfAll(parts),
  })
}

/** Joins a message with encoded fields that it does not have yet. */
export const joinFields = (own: Encoded, parts: readonly Encoded[]): Encoded =>
  parts.length === 0
    ? own
    : {
        bytes: Buffer.concat([own.bytes, ...parts.map(({ bytes }) => bytes)]),
        version: versionOfAll([own, ...parts]),
      }

const versionOfAll = (parts: readonly Encoded[]): string =>
  hashOf(parts.map(({ version }) => version).join(' '))
