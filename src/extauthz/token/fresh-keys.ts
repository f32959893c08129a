// Asks a provider again for a key that its key set lacks, about once a second for all such tokens. A key that it still
// lacks is remembered as unknown for a while (decision 2).

import { hash } from 'node:crypto'
import type { CompiledJwt } from '../authz-table.js'
import type { CompiledProvider } from './provider.js'

/** Outcome of fetching a key set. */
export interface KeySetFetch {
  readonly isAnswered: boolean
  /** Whether it began before it was asked for. */
  readonly isOlder: boolean
}

/** Access to the key sets of the remote store. */
export interface FreshKeysOptions {
  /** Resolves with the current fetch, or else the next one, once its result is in the table. */
  readonly refetchKeySet: (id: string) => Promise<KeySetFetch>
  /** Number of answers so far for this key set. */
  readonly keySetAnswers: (id: string) => number
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

/** A key to look up. hasKey: whether a configuration of the entry has it now. */
export interface KeyRequest {
  readonly provider: CompiledProvider
  /** Names the key, at any length: what the token says of it, or the token itself if it says nothing. */
  readonly name: string
  /** Length of the body that is held while the check waits. */
  readonly bodyBytes: number
  /** The entry's current configuration; undefined: it has none any more. */
  readonly current: () => CompiledJwt | undefined
  readonly hasKey: (jwt: CompiledJwt) => boolean
}

/** The result of looking up a key at its provider. */
export type FreshKeys =
  /** A configuration has the key. */
  | { readonly type: 'found'; readonly jwt: CompiledJwt }
  /** The provider answered, and lacks the key too. */
  | { readonly type: 'unknown' }
  /** The provider did not answer in time, or its answer does not tell its keys. */
  | { readonly type: 'unanswered' }

/** How long a check waits for a key, in milliseconds. */
const WAIT_MS = 1000
/** How long a key stays unknown, in milliseconds; a new answer of the provider ends this early. */
const UNKNOWN_MS = 30_000
const MAX_UNKNOWN = 10_000

/** How many checks may wait for keys; others are told to retry. */
export interface WaitingLimits {
  /** Maximum number for one key set. Other key sets are not affected. */
  readonly checks: number
  /** Maximum length of the bodies of all of them together, for all key sets. */
  readonly bodyBytes: number
}

const MIB = 1024 * 1024
/** Limits for checks that Envoy waits for. */
const CHECKS: WaitingLimits = { checks: 1000, bodyBytes: 64 * MIB }
/** Limits for audits. Nothing holds back their clients, because Envoy has its answer already. */
export const AUDITS: WaitingLimits = { checks: 64, bodyBytes: 8 * MIB }

const UNKNOWN: FreshKeys = { type: 'unknown' }
const UNANSWERED: FreshKeys = { type: 'unanswered' }

/** Look-ups of unknown keys, and the keys that providers lack. */
export class KeyLookUps {
  /** Number of answers and time at which a key was found unknown, by key set and key. */
  readonly #unknown = new Map<string, { readonly answers: number; readonly at: number }>()
  /** Number of waiting checks, by key set. */
  readonly #waiting = new Map<string, number>()
  /** Length of the bodies of all waiting checks. */
  #waitingBytes = 0

  constructor(
    private readonly options: FreshKeysOptions,
    private readonly limits: WaitingLimits = CHECKS,
  ) {}

  async find(request: KeyRequest): Promise<FreshKeys> {
    const { source } = request.provider
    if (source.type !== 'remote') return UNKNOWN
    const name = hash('sha256', JSON.stringify([source.id, request.name]), 'base64')
    if (this.#isUnknown(source.id, name)) return UNKNOWN
    if (!this.#hasRoom(source.id, request)) return UNANSWERED
    this.#count(source.id, 1, request)
    try {
      return await this.#waitFor(source.id, name, request)
    } finally {
      this.#count(source.id, -1, request)
    }
  }

  #hasRoom(id: string, { bodyBytes }: KeyRequest): boolean {
    const { limits } = this
    const waitingBytes = this.#waitingBytes
    if ((this.#waiting.get(id) ?? 0) >= limits.checks) return false
    // One body may wait whatever its length, which --mcp-body-bytes limits.
    return waitingBytes === 0 || waitingBytes + bodyBytes <= limits.bodyBytes
  }

  #count(id: string, change: 1 | -1, { bodyBytes }: KeyRequest): void {
    this.#waitingBytes += change * bodyBytes
    const waiting = (this.#waiting.get(id) ?? 0) + change
    if (waiting === 0) this.#waiting.delete(id)
    else this.#waiting.set(id, waiting)
  }

  async #waitFor(id: string, name: string, request: KeyRequest): Promise<FreshKeys> {
    const end = performance.now() + WAIT_MS
    for (;;) {
      const fetched = await within(end - performance.now(), this.options.refetchKeySet(id))
      if (fetched === undefined) return UNANSWERED
      const jwt = request.current()
      if (jwt === undefined) return UNKNOWN
      if (request.hasKey(jwt)) return { type: 'found', jwt }
      if (fetched.isOlder) continue
      if (!fetched.isAnswered) return UNANSWERED
      this.#remember(id, name)
      return UNKNOWN
    }
  }

  #isUnknown(id: string, name: string): boolean {
    const entry = this.#unknown.get(name)
    if (entry === undefined) return false
    const age = this.options.now() - entry.at
    if (entry.answers === this.options.keySetAnswers(id) && age >= 0 && age < UNKNOWN_MS)
      return true
    this.#unknown.delete(name)
    return false
  }

  /** Evicts the oldest entries to make room. */
  #remember(id: string, name: string): void {
    for (const oldest of this.#unknown.keys()) {
      if (this.#unknown.size < MAX_UNKNOWN) break
      this.#unknown.delete(oldest)
    }
    this.#unknown.set(name, { answers: this.options.keySetAnswers(id), at: this.options.now() })
  }
}

// Waits for a promise for a limited time.

/** Resolves with the promise's value; undefined if it rejects or takes longer than ms. Leaves no timer behind. */
function within<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(undefined), ms)
    const settle = (value: T | undefined): void => {
      clearTimeout(timer)
      resolve(value)
    }
    promise.then(settle, () => settle(undefined))
  })
}
