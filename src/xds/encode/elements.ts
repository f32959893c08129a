// Joins encoded messages into a repeated field: a protobuf message is the concatenation of its fields in any order.

import type { DescMessage } from '@bufbuild/protobuf'

/** Returns a function that encodes a repeated field with these messages. list is the field's name in Envoy's API. */
export function elementsOf(
  schema: DescMessage,
  list: string,
): (messages: readonly Uint8Array[]) => Buffer {
  const number = schema.fields.find(({ name }) => name === list)?.number ?? 0
  return (messages) =>
    Buffer.concat(
      messages.flatMap((bytes) => [
        Uint8Array.from([...varint(number * 8 + LENGTH_DELIMITED), ...varint(bytes.length)]),
        bytes,
      ]),
    )
}

const LENGTH_DELIMITED = 2

const varint = (value: number): readonly number[] =>
  value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)]
