// The latest digests, in flat arrays: a set of strings is scattered in memory, and each string is work for collections.

/** 32-bit words of a SHA-256 digest. */
const WORDS = 8

/** The latest SHA-256 digests: at least half of max, and at most twice as many. They are dropped many at a time. */
export class RecentDigests {
  readonly #half: number
  readonly #words = new Uint32Array(WORDS)
  #young = new DigestSet()
  #old = new DigestSet()

  constructor(max: number) {
    this.#half = Math.ceil(max / 2)
  }

  /** digest: 32 characters, each a byte (latin1). */
  has(digest: string): boolean {
    this.#read(digest)
    return this.#young.has(this.#words) || this.#old.has(this.#words)
  }

  add(digest: string): void {
    if (this.#half === 0) return
    if (this.#young.size >= this.#half) {
      this.#old = this.#young
      this.#young = new DigestSet()
    }
    this.#read(digest)
    this.#young.add(this.#words)
  }

  #read(digest: string): void {
    const words = this.#words
    for (let word = 0, at = 0; word < WORDS; word++, at += 4)
      words[word] =
        digest.charCodeAt(at) |
        (digest.charCodeAt(at + 1) << 8) |
        (digest.charCodeAt(at + 2) << 16) |
        (digest.charCodeAt(at + 3) << 24)
    // 0 marks a free place.
    if (words[0] === 0) words[0] = 1
  }
}

/** Places at first. All numbers of places are powers of two. */
const FEW_PLACES = 16

/** A hash table with open addressing, at most half full. A digest is its own hash. */
class DigestSet {
  size = 0
  /** WORDS for each place; the first word of a free one is 0. */
  #places = new Uint32Array(0)

  has(words: Uint32Array): boolean {
    return this.size > 0 && this.#places[this.#find(words)] !== 0
  }

  add(words: Uint32Array): void {
    if (this.#places.length <= 2 * WORDS * this.size) this.#grow()
    const at = this.#find(words)
    if (this.#places[at] === 0) this.size += 1
    this.#places.set(words, at)
  }

  /** Returns where the digest is, or else the free place for it. */
  #find(words: Uint32Array): number {
    const places = this.#places
    const last = places.length - WORDS
    let at = Math.imul(words[0] ?? 0, WORDS) & last
    while (places[at] !== 0 && !isAt(places, at, words)) at = (at + WORDS) & last
    return at
  }

  #grow(): void {
    const before = this.#places
    this.#places = new Uint32Array(Math.max(2 * before.length, FEW_PLACES * WORDS))
    for (let at = 0; at < before.length; at += WORDS) {
      if (before[at] === 0) continue
      const words = before.subarray(at, at + WORDS)
      this.#places.set(words, this.#find(words))
    }
  }
}

function isAt(places: Uint32Array, at: number, words: Uint32Array): boolean {
  for (let word = 0; word < WORDS; word++) if (places[at + word] !== words[word]) return false
  return true
}
