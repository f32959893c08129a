// Memo of the names of members, which recur in nearly every body: a known name costs neither a new string nor its hash.

const SLOTS = 1024
/** Longer names are not kept. */
const LONGEST = 32
const FIRST_BEYOND_ASCII = 0x80

/** The names that were read last, at most one in each slot. */
export class MemberNames {
  readonly #slots = Array<string>(SLOTS).fill('')

  /** Returns a part of the text. */
  read(text: string, start: number, end: number): string {
    const length = end - start
    if (length > LONGEST) return text.slice(start, end)
    let hash = length
    let bits = 0
    for (let at = start; at < end; at++) {
      const code = text.charCodeAt(at)
      bits |= code
      hash = (Math.imul(hash, 31) + code) | 0
    }
    if (bits >= FIRST_BEYOND_ASCII) return text.slice(start, end)
    const slot = (hash ^ (hash >>> 8)) & (SLOTS - 1)
    const known = this.#slots[slot] ?? ''
    if (known.length === length && text.startsWith(known, start)) return known
    // A copy: a part would keep all of the text in memory.
    const name = Buffer.from(text.slice(start, end), 'latin1').toString('latin1')
    this.#slots[slot] = name
    return name
  }
}
