// Messages that hold thousands of others, of which most stay as they are: their bytes are put together from bytes,
// since a protobuf message is its fields one after the other, in any order.

import type { DescMessage } from '@bufbuild/protobuf'
import { createChunker } from '../../incremental/chunked-list.js'
import type { JsonObject } from '../../ir/json.js'

export interface PartsField {
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
export function partsField(schema: DescMessage): PartsField | undefined {
  const name = PARTS[schema.typeName]
  const field = schema.fields.find((one) => one.name === name)
  return field?.fieldKind === 'list' && field.listKind === 'message' ? field : undefined
}

/** Parts that are encoded together. */
export const partChunks = createChunker<JsonObject>(({ name }) =>
  typeof name === 'string' ? name : '',
)

/** Messages as elements of the field. */
export const elementsOf = ({ number }: PartsField, messages: readonly Uint8Array[]): Uint8Array =>
  Buffer.concat(
    messages.flatMap((bytes) => [
      Uint8Array.from([...varint(number * 8 + LENGTH_DELIMITED), ...varint(bytes.length)]),
      bytes,
    ]),
  )

const LENGTH_DELIMITED = 2

const varint = (value: number): readonly number[] =>
  value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)]
