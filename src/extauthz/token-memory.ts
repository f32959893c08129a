// Verified tokens, remembered by SHA-256 so that a signature is checked once and not per request: bounded in number,
// in size and by exp. One memory belongs to one compiled provider; with other keys or another policy there is a new one.

import { hash } from 'node:crypto'
import type { LazyValue } from '../cel/attributes.js'
import type { RuleVerdict } from './authorize.js'
import type { CompiledRules } from './authz-table.js'
import type { JsonObject } from '../ir/json.js'

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
}

/** Half of what is remembered at most: two generations, of which the older is dropped when the younger is full. */
const GENERATION_SIZE = 5_000

/** As that, of their tokens' bytes: 1,024 of the longest ones. What is kept of each is a small multiple of it. */
const GENERATION_BYTES = 16 * 1024 * 1024

export const tokenDigest = (token: string): string => hash('sha256', token, 'base64')

export class TokenMemory {
  private young = new Map<string, RememberedToken>()
  private old = new Map<string, RememberedToken>()
  private youngBytes = 0

  constructor(
    private readonly generationSize = GENERATION_SIZE,
    private readonly generationBytes = GENERATION_BYTES,
  ) {}

  /** undefined: never seen, forgotten, or past its exp. */
  find(digest: string, nowSeconds: number): RememberedToken | undefined {
    const found = this.young.get(digest) ?? this.old.get(digest)
    if (found === undefined) return undefined
    if (nowSeconds >= found.until) {
      this.young.delete(digest)
      this.old.delete(digest)
      return undefined
    }
    if (!this.young.has(digest)) this.remember(digest, found)
    return found
  }

  remember(digest: string, token: RememberedToken): void {
    const isFull =
      this.young.size >= this.generationSize || this.youngBytes + token.size > this.generationBytes
    if (isFull) {
      this.old = this.young
      this.young = new Map()
      this.youngBytes = 0
    }
    this.young.set(digest, token)
    this.youngBytes += token.size
  }

  get size(): number {
    return this.young.size + this.old.size
  }
}
