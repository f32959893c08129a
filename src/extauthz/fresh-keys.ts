// A token asks for a key that its set does not have: the provider is asked again, for all such tokens about once a
// second, and what it does not have either is known for a while (decision 2).

import { hash } from 'node:crypto'
import type { CompiledJwt } from './authz-table.js'
import type { CompiledProvider } from './provider.js'
import { within } from './within.js'

/** What a fetch of a key set came to. */
export interface KeySetFetch {
  readonly isAnswered: boolean
  /** It had begun before it was asked for. */
  readonly isOlder: boolean
}

export interface FreshKeysOptions {
  /** Resolves with the fetch that is under way, else with the next one, when what came of it is in the table. */
  readonly refetchKeySet: (id: string) => Promise<KeySetFetch>
  /** How many answers there have been for this key set. */
  readonly keySetAnswers: (id: string) => number
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

/** hasKey: whether a configuration of the entry has the key by now. */
export interface KeyRequest {
  readonly provider: CompiledProvider
  /** Of the token's header. */
  readonly kid: string | undefined
  readonly algorithm: string
  /** The entry's configuration as it is now; undefined: it has none any more. */
  readonly current: () => CompiledJwt | undefined
  readonly hasKey: (jwt: CompiledJwt) => boolean
}

export type FreshKeys =
  /** The configuration that has the key. */
  | { readonly type: 'found'; readonly jwt: CompiledJwt }
  /** The provider has answered, and does not have it either. */
  | { readonly type: 'unknown' }
  /** It has not answered in time, or in no way that says what keys it has. */
  | { readonly type: 'unanswered' }

/** How long a check waits for keys that its token asks for. */
const WAIT_MS = 1000
/** How long a key is known to be unknown; any answer that comes sooner ends it. */
const UNKNOWN_MS = 30_000
const MAX_UNKNOWN = 10_000
/** More than wait for one key set at once are told to come again; nobody who waits for another one is held up. */
const MAX_WAITING = 1000

const UNKNOWN: FreshKeys = { type: 'unknown' }
const UNANSWERED: FreshKeys = { type: 'unanswered' }

export class KeyLookUps {
  /** By set and key: how many answers there had been, and when. */
  private readonly unknown = new Map<string, { readonly answers: number; readonly at: number }>()
  /** By set. */
  private readonly waiting = new Map<string, number>()

  constructor(private readonly options: FreshKeysOptions) {}

  async find(request: KeyRequest): Promise<FreshKeys> {
    const { source } = request.provider
    if (source.type !== 'remote') return UNKNOWN
    const name = nameOf(source.id, request)
    if (this.isUnknown(source.id, name)) return UNKNOWN
    if ((this.waiting.get(source.id) ?? 0) >= MAX_WAITING) return UNANSWERED
    this.count(source.id, 1)
    try {
      return await this.waitFor(source.id, name, request)
    } finally {
      this.count(source.id, -1)
    }
  }

  private count(id: string, change: 1 | -1): void {
    const waiting = (this.waiting.get(id) ?? 0) + change
    if (waiting === 0) this.waiting.delete(id)
    else this.waiting.set(id, waiting)
  }

  private async waitFor(id: string, name: string, request: KeyRequest): Promise<FreshKeys> {
    const end = performance.now() + WAIT_MS
    for (;;) {
      const fetched = await within(end - performance.now(), this.options.refetchKeySet(id))
      if (fetched === undefined) return UNANSWERED
      const jwt = request.current()
      if (jwt === undefined) return UNKNOWN
      if (request.hasKey(jwt)) return { type: 'found', jwt }
      if (fetched.isOlder) continue
      if (!fetched.isAnswered) return UNANSWERED
      this.remember(id, name)
      return UNKNOWN
    }
  }

  private isUnknown(id: string, name: string): boolean {
    const entry = this.unknown.get(name)
    if (entry === undefined) return false
    const age = this.options.now() - entry.at
    if (entry.answers === this.options.keySetAnswers(id) && age >= 0 && age < UNKNOWN_MS)
      return true
    this.unknown.delete(name)
    return false
  }

  /** The oldest make room. */
  private remember(id: string, name: string): void {
    for (const oldest of this.unknown.keys()) {
      if (this.unknown.size < MAX_UNKNOWN) break
      this.unknown.delete(oldest)
    }
    this.unknown.set(name, { answers: this.options.keySetAnswers(id), at: this.options.now() })
  }
}

/** Of bounded length: both parts are the token's. */
const nameOf = (id: string, { kid, algorithm }: KeyRequest): string =>
  hash('sha256', JSON.stringify([id, kid, algorithm]), 'base64')
