// Encodes header fields without a dynamic table: indexed from the static table or literals without indexing
// (RFC 7541, sections 6.1 and 6.2.2).

import { type HeaderField, STATIC_TABLE } from './static-table.js'

/** Encodes a header block. Names and values are ASCII. */
export function encodeHeaderBlock(fields: readonly HeaderField[]): Buffer {
  return Buffer.concat(fields.map(encodeField))
}

/** "Dynamic table size update" to 0 (section 6.3), which a peer expects after it has reduced its table size. */
export const EMPTY_TABLE = Buffer.from([0x20])

function encodeField([name, value]: HeaderField): Buffer {
  const indexed = STATIC_TABLE.findIndex(([n, v]) => n === name && v === value)
  if (indexed >= 0) return encodeInteger(indexed + 1, 7, 0x80)
  const named = STATIC_TABLE.findIndex(([n]) => n === name)
  return named >= 0
    ? Buffer.concat([encodeInteger(named + 1, 4, 0), encodeString(value)])
    : Buffer.concat([Buffer.of(0), encodeString(name), encodeString(value)])
}

function encodeString(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1')
  return Buffer.concat([encodeInteger(bytes.length, 7, 0), bytes])
}

/** Encodes an integer (section 5.1). */
function encodeInteger(value: number, prefixBits: number, pattern: number): Buffer {
  const mask = (1 << prefixBits) - 1
  if (value < mask) return Buffer.of(pattern | value)
  const bytes = [pattern | mask]
  let rest = value - mask
  for (; rest >= 0x80; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80)
  bytes.push(rest)
  return Buffer.from(bytes)
}
