// Encoded messages → elements of a repeated field, since a protobuf message is its fields one after the other, in any order.

import type { DescMessage } from '@bufbuild/protobuf'

/** The bytes of a field of a message that holds these messages. list: the name of the field, as Envoy has it. */
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
