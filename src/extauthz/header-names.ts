// The request headers that somebody reads, found in the bytes of a message without making a string of any other.

import type { Range } from '../grpc/wire-reader.js'

const CASE_BIT = 0x20
const isUpper = (byte: number): boolean => byte >= 0x41 && byte <= 0x5a

export class HeaderNames {
  private readonly byLength = new Map<number, { readonly name: string; readonly bytes: Buffer }[]>()

  /** names: lower-case. */
  constructor(private readonly names: readonly string[] | 'all') {
    if (names === 'all') return
    for (const name of new Set(names)) {
      const bytes = Buffer.from(name, 'utf8')
      const sameLength = this.byLength.get(bytes.length) ?? []
      this.byLength.set(bytes.length, [...sameLength, { name, bytes }])
    }
  }

  /** The lower-case name at range when it is one of these. */
  match(buffer: Buffer, { start, end }: Range): string | undefined {
    if (this.names === 'all') return buffer.toString('utf8', start, end).toLowerCase()
    return this.byLength
      .get(end - start)
      ?.find(({ bytes }) => equalsIgnoringCase(bytes, buffer, start))?.name
  }
}

function equalsIgnoringCase(lower: Buffer, buffer: Buffer, start: number): boolean {
  for (let i = 0; i < lower.length; i++) {
    const byte = buffer[start + i] ?? 0
    if (lower[i] !== (isUpper(byte) ? byte | CASE_BIT : byte)) return false
  }
  return true
}
