// Verified tokens, remembered by SHA-256 so that a signature is checked once and not per request: bounded in number,
// in size and by exp. One memory belongs to one compiled provider; with other keys or another policy there is a new one.

import { hash } from 'node:crypto'
import type { LazyValue } from '../cel/attributes.js'
import type { JsonObject } from '../ir/json.js'
import type { CompiledRules, RuleVerdict } from '../rules/judge.js'

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

/** --remembered-tokens: a token of 700 bytes takes about 3 KB with its claims and the answer that lets it in. */
export const DEFAULT_REMEMBERED_TOKENS = 40_000

/** On average, of a token as sent. What is kept of it is about four times its length. */
const BYTES_PER_TOKEN = 1024
const LONGEST_TOKEN = 16 * 1024

export const tokenDigest = (token: string): string => hash('sha256', token, 'base64')

/** The tokens that were used last. */
export class TokenMemory {
  /** In the order of their last use. */
  private readonly tokens = new Map<string, RememberedToken>()
  private bytes = 0

  constructor(
    private readonly maxTokens = DEFAULT_REMEMBERED_TOKENS,
    private readonly maxBytes = Math.max(maxTokens * BYTES_PER_TOKEN, LONGEST_TOKEN),
  ) {}

  /** undefined: never seen, forgotten, or past its exp. */
  find(digest: string, nowSeconds: number): RememberedToken | undefined {
    const found = this.tokens.get(digest)
    if (found === undefined) return undefined
    if (nowSeconds >= found.until) {
      this.forget(digest, found)
      return undefined
    }
    this.tokens.delete(digest)
    this.tokens.set(digest, found)
    return found
  }

  remember(digest: string, token: RememberedToken): void {
    const known = this.tokens.get(digest)
    if (known !== undefined) this.forget(digest, known)
    for (const [oldest, its] of this.tokens) {
      if (this.hasRoomFor(token)) break
      this.forget(oldest, its)
    }
    if (!this.hasRoomFor(token)) return
    this.tokens.set(digest, token)
    this.bytes += token.size
  }

  get size(): number {
    return this.tokens.size
  }

  private hasRoomFor({ size }: RememberedToken): boolean {
    return this.tokens.size < this.maxTokens && this.bytes + size <= this.maxBytes
  }

  private forget(digest: string, { size }: RememberedToken): void {
    this.tokens.delete(digest)
    this.bytes -= size
  }
}
