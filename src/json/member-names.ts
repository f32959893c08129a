// Memo of the names of members, which recur in nearly every body: a known name costs no new string, and lookups compare
// it by its address.

import { ownPart } from '../own-text.js'

const SLOTS = 1024
/** Longer names are not kept. */
const LONGEST = 32

/** The names that were read last, at most one in each slot. */
export class MemberNames {
  readonly #slots = Array<string>(SLOTS).fill('')

  /** Returns a part of the text. */
  read(text: string, start: number, end: number): string {
    const length = end - start
    if (length > LONGEST) return text.slice(start, end)
    let hash = length
    for (let at = start; at < end; at++) hash = (Math.imul(hash, 31) + text.charCodeAt(at)) | 0
    const slot = (hash ^ (hash >>> 8)) & (SLOTS - 1)
    const known = this.#slots[slot] ?? ''
    if (known.length === length && text.startsWith(known, start)) return known
    const name = ownPart(text.slice(start, end), text)
    this.#slots[slot] = name
    return name
  }
}
