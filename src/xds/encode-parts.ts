// Messages that hold thousands of others, of which most stay as they are: their bytes are put together from bytes,
// since a protobuf message is its fields one after the other, in any order.

import type { DescMessage } from '@bufbuild/protobuf'

interface PartsField {
  readonly name: string
  readonly number: number
  readonly message: DescMessage
}

/** Message → its field of that kind. */
const PARTS: Readonly<Record<string, string>> = {
  'envoy.config.route.v3.RouteConfiguration': 'virtual_hosts',
  'envoy.config.route.v3.VirtualHost': 'routes',
}

/** undefined: the message is encoded as a whole. */
export const partsField = (schema: DescMessage): PartsField | undefined => {
  const name = PARTS[schema.typeName]
  const field = schema.fields.find((one) => one.name === name)
  return field?.fieldKind === 'list' && field.listKind === 'message' ? field : undefined
}

/** own: the message without the field, encoded. */
export const concatParts = (
  own: Uint8Array,
  number: number,
  parts: readonly { readonly bytes: Uint8Array }[],
): Uint8Array => {
  const chunks = [own]
  for (const { bytes } of parts) {
    chunks.push(
      Uint8Array.from([...varint(number * 8 + LENGTH_DELIMITED), ...varint(bytes.length)]),
    )
    chunks.push(bytes)
  }
  return Buffer.concat(chunks)
}

const LENGTH_DELIMITED = 2

const varint = (value: number): readonly number[] =>
  value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)]
