// Finds wanted header names in the bytes of a message, without making strings of the others.

const CASE_BIT = 0x20
const isUpper = (byte: number): boolean => byte >= 0x41 && byte <= 0x5a

interface Name {
  readonly name: string
  readonly bytes: Buffer
}

/** A set of header names that is searched with bytes. */
export class HeaderNames {
  private readonly byLength: (Name[] | undefined)[] = []

  /** names: in lower case. */
  constructor(private readonly names: readonly string[] | 'all') {
    if (names === 'all') return
    for (const name of new Set(names)) {
      const bytes = Buffer.from(name, 'utf8')
      ;(this.byLength[bytes.length] ??= []).push({ name, bytes })
    }
  }

  /** Returns the name in these bytes, in lower case, if it is one of the wanted ones. */
  match(buffer: Buffer, start: number, end: number): string | undefined {
    if (this.names === 'all') return buffer.toString('utf8', start, end).toLowerCase()
    const names = this.byLength[end - start]
    if (names === undefined) return undefined
    for (const { name, bytes } of names) if (equalsIgnoringCase(bytes, buffer, start)) return name
    return undefined
  }
}

function equalsIgnoringCase(lower: Buffer, buffer: Buffer, start: number): boolean {
  for (let i = 0; i < lower.length; i++) {
    const byte = buffer[start + i] ?? 0
    if (lower[i] !== (isUpper(byte) ? byte | CASE_BIT : byte)) return false
  }
  return true
}
