// Remembers verified tokens by SHA-256, so that a signature is verified once; bounded by number, size and exp. Each
// compiled provider has its own memory; new keys or a new policy start an empty one.

import { hash } from 'node:crypto'
import type { CompiledRules, RuleVerdict } from '../rules/judge.js'
import { Claims } from './claims.js'
import type { CompiledValues, ValuesForEnvoy } from './values-for-envoy.js'

/** A verified token that is remembered. */
export interface RememberedToken {
  readonly claims: Claims
  /** Seconds since the epoch, including leeway. */
  readonly until: number
  /** Length of the token as sent, in bytes; its memory use grows with that. */
  readonly size: number
  /** Encoded CheckResponse that allows it, with Authorization kept or removed; kept from the second use on. */
  readonly allowed: { wasUsed?: true; kept?: Uint8Array; removed?: Uint8Array }
  /** Verdict of rules that read the token alone, for the route that was asked for last. */
  judged?: { readonly rules: CompiledRules; readonly verdict: RuleVerdict }
  /** Likewise, for rules of policies of mode Audit. */
  audited?: { readonly rules: CompiledRules; readonly verdict: RuleVerdict }
  /** Values for Envoy from expressions that read the token alone, for the route that was asked for last. */
  computed?: { readonly by: CompiledValues; readonly values: ValuesForEnvoy }
}

/**
 * --remembered-tokens: a token of 700 bytes takes about 1 KB, and 3 KB once it is used again, with its claims and the
 * answer that allows it.
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
  private readonly places = new Map<string, Place>()
  /** Sentinel between the newest and the oldest. */
  private readonly ends: Place
  private bytes = 0
  /** The last one that was remembered, unless it has been used again. */
  private unused = NO_TOKEN

  constructor(
    private readonly maxTokens = DEFAULT_REMEMBERED_TOKENS,
    private readonly maxBytes = Math.max(maxTokens * BYTES_PER_TOKEN, LONGEST_TOKEN),
  ) {
    const ends = { digest: '', token: NO_TOKEN } as Place
    ends.older = ends.newer = ends
    this.ends = ends
  }

  /** undefined: never seen, evicted, or past its exp. */
  find(digest: string, nowSeconds: number): RememberedToken | undefined {
    const place = this.places.get(digest)
    if (place === undefined) return undefined
    if (nowSeconds >= place.token.until) {
      this.forget(place)
      return undefined
    }
    if (place.token === this.unused) this.unused = NO_TOKEN
    if (place !== this.ends.older) {
      takeOut(place)
      this.putNewest(place)
    }
    return place.token
  }

  remember(digest: string, token: RememberedToken): void {
    const known = this.places.get(digest)
    if (known !== undefined) this.forget(known)
    // What never comes again must cost little: a provider may issue a token for each request.
    this.unused.claims.drop()
    this.unused = NO_TOKEN
    if (token.size > this.maxBytes) return
    while (!this.hasRoomFor(token) && this.size > 0) this.forget(this.ends.newer)
    if (!this.hasRoomFor(token)) return
    const place = { digest, token, older: this.ends, newer: this.ends }
    this.putNewest(place)
    this.places.set(digest, place)
    this.unused = token
    this.bytes += token.size
  }

  get size(): number {
    return this.places.size
  }

  private hasRoomFor({ size }: RememberedToken): boolean {
    return this.size < this.maxTokens && this.bytes + size <= this.maxBytes
  }

  private putNewest(place: Place): void {
    const { ends } = this
    place.older = ends.older
    place.newer = ends
    ends.older.newer = place
    ends.older = place
  }

  private forget(place: Place): void {
    takeOut(place)
    this.places.delete(place.digest)
    this.bytes -= place.token.size
  }
}

function takeOut({ older, newer }: Place): void {
  older.newer = newer
  newer.older = older
}

const NO_TOKEN: RememberedToken = { claims: new Claims({}, '{}'), until: 0, size: 0, allowed: {} }
