// Remembers verified tokens by SHA-256, so that a signature is verified once; bounded by number, size and exp. A token
// that was used once is only a digest here, because many come never again. Each compiled provider has its own memory;
// new keys or a new policy start an empty one.

import { hash } from 'node:crypto'
import type { KeptVerdict } from '../kept-verdicts.js'
import type { CompiledValues, ValuesForEnvoy } from '../values-for-envoy.js'
import type { Claims } from './claims.js'

/** A verified token that is remembered. */
export interface RememberedToken {
  readonly claims: Claims
  /** Seconds since the epoch, including leeway. */
  readonly until: number
  /** Length of the token as sent, in bytes; its memory use grows with that. */
  readonly size: number
  /** Whether the memory has it, and not this check alone. */
  readonly isKept: boolean
  /** Encoded CheckResponse that allows it, with Authorization kept or removed. */
  readonly allowed: { kept?: Uint8Array; removed?: Uint8Array }
  /** Verdicts of rules that read the token alone. */
  judged?: readonly KeptVerdict[]
  /** Likewise, for rules of policies of mode Audit. */
  audited?: readonly KeptVerdict[]
  /** Values for Envoy from expressions that read the token alone, for the route that was asked for last: they may be long. */
  computed?: { readonly by: CompiledValues; readonly values: ValuesForEnvoy }
}

/**
 * --remembered-tokens: a token of 700 bytes takes about 100 bytes, and 3 KB once it is used again, with its claims and
 * the answer that allows it. Each of the two kinds has this limit.
 */
export const DEFAULT_REMEMBERED_TOKENS = 40_000

/** Average length of a token as sent, for the limit in bytes. Its memory use is about four times its length. */
const BYTES_PER_TOKEN = 1024
const LONGEST_TOKEN = 16 * 1024

/** Returns the key under which a token is remembered. */
export const tokenDigest = (token: string): string => hash('sha256', token, 'base64')

/** A token, linked to those used before and after it. */
interface Place {
  readonly digest: string
  readonly token: RememberedToken
  older: Place
  newer: Place
}

/**
 * The most recently used tokens. The order of use is a linked ring: a Map keeps a deleted entry in its bucket's chain
 * until it grows, so moving a busy token to the end of the Map would make each look-up longer than the last.
 */
export class TokenMemory {
  readonly #places = new Map<string, Place>()
  /** Sentinel between the newest and the oldest. */
  readonly #ends: Place
  #bytes = 0
  readonly #once: RecentDigests

  constructor(
    private readonly maxTokens = DEFAULT_REMEMBERED_TOKENS,
    private readonly maxBytes = Math.max(maxTokens * BYTES_PER_TOKEN, LONGEST_TOKEN),
  ) {
    this.#once = new RecentDigests(maxTokens)
    const ends = { digest: '' } as Place
    ends.older = ends.newer = ends
    this.#ends = ends
  }

  /** undefined: not used twice yet, evicted, or past its exp. */
  find(digest: string, nowSeconds: number): RememberedToken | undefined {
    const place = this.#places.get(digest)
    if (place === undefined) return undefined
    if (nowSeconds >= place.token.until) {
      this.#forget(place)
      return undefined
    }
    if (place !== this.#ends.older) {
      takeOut(place)
      this.#putNewest(place)
    }
    return place.token
  }

  /** Notes that the signature of a token was verified. */
  noteVerified(digest: string): void {
    this.#once.add(digest)
  }

  /** Whether the signature of a token was verified before. False: never, or too many others were since. */
  wasVerified(digest: string): boolean {
    return this.#once.has(digest)
  }

  /** Remembers a token that is used for the second time. */
  remember(digest: string, token: RememberedToken): void {
    const known = this.#places.get(digest)
    if (known !== undefined) this.#forget(known)
    if (token.size > this.maxBytes) return
    while (!this.#hasRoomFor(token) && this.size > 0) this.#forget(this.#ends.newer)
    if (!this.#hasRoomFor(token)) return
    const place = { digest, token, older: this.#ends, newer: this.#ends }
    this.#putNewest(place)
    this.#places.set(digest, place)
    this.#bytes += token.size
  }

  get size(): number {
    return this.#places.size
  }

  #hasRoomFor({ size }: RememberedToken): boolean {
    return this.size < this.maxTokens && this.#bytes + size <= this.maxBytes
  }

  #putNewest(place: Place): void {
    const ends = this.#ends
    place.older = ends.older
    place.newer = ends
    ends.older.newer = place
    ends.older = place
  }

  #forget(place: Place): void {
    takeOut(place)
    this.#places.delete(place.digest)
    this.#bytes -= place.token.size
  }
}

function takeOut({ older, newer }: Place): void {
  older.newer = newer
  newer.older = older
}

/**
 * The latest digests: at least half of max, and at most twice as many. They are dropped many at a time: a Set that loses
 * its oldest member each time keeps a hole for it, and the next search for the oldest walks through the holes.
 */
class RecentDigests {
  readonly #half: number
  #young = new Set<string>()
  #old = new Set<string>()

  constructor(max: number) {
    this.#half = Math.ceil(max / 2)
  }

  has(digest: string): boolean {
    return this.#young.has(digest) || this.#old.has(digest)
  }

  add(digest: string): void {
    if (this.#half === 0) return
    if (this.#young.size >= this.#half) {
      this.#old = this.#young
      this.#young = new Set()
    }
    this.#young.add(digest)
  }
}
