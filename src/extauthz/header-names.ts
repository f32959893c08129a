// Finds wanted header names in the bytes of a message, without making strings of the others.

const CASE_BIT = 0x20
const isUpper = (byte: number): boolean => byte >= 0x41 && byte <= 0x5a

interface Name {
  readonly name: string
  readonly bytes: Buffer
}

/** A set of header names that is searched with bytes. */
export class HeaderNames {
  readonly #byLength: (Name[] | undefined)[] = []
  readonly #prefix: Buffer | undefined

  /** In lower case. prefix: all names that begin with it are wanted, too. */
  constructor(
    private readonly names: readonly string[] | 'all',
    prefix?: string,
  ) {
    this.#prefix = prefix === undefined ? undefined : Buffer.from(prefix)
    if (names === 'all') return
    for (const name of new Set(names)) {
      const bytes = Buffer.from(name, 'utf8')
      ;(this.#byLength[bytes.length] ??= []).push({ name, bytes })
    }
  }

  /** Returns the name in these bytes, in lower case, if it is one of the wanted ones. */
  match(buffer: Buffer, start: number, end: number): string | undefined {
    if (this.names === 'all') return buffer.toString('utf8', start, end).toLowerCase()
    for (const { name, bytes } of this.#byLength[end - start] ?? [])
      if (equalsIgnoringCase(bytes, buffer, start)) return name
    const prefix = this.#prefix
    return prefix !== undefined &&
      prefix.length <= end - start &&
      equalsIgnoringCase(prefix, buffer, start)
      ? buffer.toString('utf8', start, end).toLowerCase()
      : undefined
  }
}

function equalsIgnoringCase(lower: Buffer, buffer: Buffer, start: number): boolean {
  for (let i = 0; i < lower.length; i++) {
    const byte = buffer[start + i] ?? 0
    if (lower[i] !== (isUpper(byte) ? byte | CASE_BIT : byte)) return false
  }
  return true
}
