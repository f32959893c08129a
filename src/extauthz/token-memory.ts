// Verified tokens, remembered by SHA-256 so that a signature is checked once and not per request: bounded in number,
// in size and by exp. One memory belongs to one compiled provider; with other keys or another policy there is a new one.

import { hash } from 'node:crypto'
import { type LazyValue, lazyValue } from '../cel/attributes.js'
import type { JsonObject } from '../ir/json.js'
import type { CompiledRules, RuleVerdict } from '../rules/judge.js'
import type { CompiledValues, ValuesForEnvoy } from './values-for-envoy.js'

export interface RememberedToken {
  readonly claims: LazyValue<JsonObject>
  /** Seconds since the epoch; leeway included. */
  readonly until: number
  /** Of the token as sent, in bytes: what is kept of it grows with that. */
  readonly size: number
  /** The encoded CheckResponse that lets it in, by whether Authorization is forwarded; made at first use. */
  readonly allowed: { kept?: Uint8Array; removed?: Uint8Array }
  /** What rules that read nothing but the token came to; those of the route that asked last. */
  judged?: { readonly rules: CompiledRules; readonly verdict: RuleVerdict }
  /** Likewise, of expressions for Envoy. */
  computed?: { readonly by: CompiledValues; readonly values: ValuesForEnvoy }
}

/** --remembered-tokens: a token of 700 bytes takes about 3 KB with its claims and the answer that lets it in. */
export const DEFAULT_REMEMBERED_TOKENS = 40_000

/** On average, of a token as sent. What is kept of it is about four times its length. */
const BYTES_PER_TOKEN = 1024
const LONGEST_TOKEN = 16 * 1024

export const tokenDigest = (token: string): string => hash('sha256', token, 'base64')

/** A token in its place between the ones used before and after it. */
interface Place {
  readonly digest: string
  readonly token: RememberedToken
  older: Place
  newer: Place
}

/**
 * The tokens that were used last. The order of use is a ring of its own: a Map keeps a deleted entry in the chain of its
 * bucket until it grows, so that moving a busy token to its end would make each look-up longer than the one before.
 */
export class TokenMemory {
  private readonly places = new Map<string, Place>()
  /** Stands between the newest and the oldest. */
  private readonly ends: Place
  private bytes = 0

  constructor(
    private readonly maxTokens = DEFAULT_REMEMBERED_TOKENS,
    private readonly maxBytes = Math.max(maxTokens * BYTES_PER_TOKEN, LONGEST_TOKEN),
  ) {
    const ends = { digest: '', token: NO_TOKEN } as Place
    ends.older = ends.newer = ends
    this.ends = ends
  }

  /** undefined: never seen, forgotten, or past its exp. */
  find(digest: string, nowSeconds: number): RememberedToken | undefined {
    const place = this.places.get(digest)
    if (place === undefined) return undefined
    if (nowSeconds >= place.token.until) {
      this.forget(place)
      return undefined
    }
    if (place !== this.ends.older) {
      takeOut(place)
      this.putNewest(place)
    }
    return place.token
  }

  remember(digest: string, token: RememberedToken): void {
    const known = this.places.get(digest)
    if (known !== undefined) this.forget(known)
    if (token.size > this.maxBytes) return
    while (!this.hasRoomFor(token) && this.size > 0) this.forget(this.ends.newer)
    if (!this.hasRoomFor(token)) return
    const place = { digest, token, older: this.ends, newer: this.ends }
    this.putNewest(place)
    this.places.set(digest, place)
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

const NO_TOKEN: RememberedToken = { claims: lazyValue({}), until: 0, size: 0, allowed: {} }
