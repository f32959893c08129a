// Memo of short texts that recur in nearly every message: a lookup costs less than decoding the text again.

const SLOTS = 256
/** Longer texts are not kept. */
const MAX_LENGTH = 64

interface Known {
  readonly bytes: Uint8Array
  readonly text: string
}

/** Not for secrets: a text stays until another one takes its slot. */
export class TextMemo {
  readonly #slots = Array<Known | undefined>(SLOTS).fill(undefined)

  /** Returns the bytes as a string; invalid UTF-8 becomes U+FFFD. */
  read(buffer: Buffer, start: number, end: number): string {
    const length = end - start
    if (length > MAX_LENGTH) return buffer.toString('utf8', start, end)
    let hash = length
    for (let at = start; at < end; at++) hash = (Math.imul(hash, 31) + (buffer[at] as number)) | 0
    const slot = (hash ^ (hash >>> 8)) & (SLOTS - 1)
    const known = this.#slots[slot]
    if (known !== undefined && isAt(known.bytes, buffer, start, length)) return known.text
    const text = buffer.toString('utf8', start, end)
    this.#slots[slot] = { bytes: Uint8Array.from(buffer.subarray(start, end)), text }
    return text
  }
}

function isAt(bytes: Uint8Array, buffer: Buffer, start: number, length: number): boolean {
  if (bytes.length !== length) return false
  for (let i = 0; i < length; i++) if (bytes[i] !== buffer[start + i]) return false
  return true
}
