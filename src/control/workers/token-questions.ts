// In a worker: knows Envoys by their tokens, which the main process has reviewed for all workers.

import { ENVOY_TOKEN_HEADER } from '../../model/names.js'
import type { Authenticator } from '../../wire/grpc/authenticated.js'
import { needsNoToken, type Peer } from '../../wire/grpc/peer.js'
import type { Call } from '../../wire/grpc/service.js'
import { GrpcError, Status } from '../../wire/grpc/status.js'
import type { Admission, FromWorker } from './messages.js'

/** A token that the main process has confirmed for a connection. */
interface Proved {
  readonly token: string
  readonly gateway: string | undefined
  /** When it was confirmed, in milliseconds since the epoch. */
  readonly since: number
}

/** A question under way about the tokens of a connection. */
interface Asking {
  readonly tokens: string
  readonly answer: Promise<void>
}

/** Age at which the main process is asked again, beside the calls, in milliseconds. */
const FRESH_MS = 10_000
/** Age at which calls wait for its answer, in milliseconds. */
const STALE_MS = 60_000
/** How long a call waits, in milliseconds: longer than the main process waits for a review. */
const PATIENCE_MS = 6_000
/** Most questions without an answer: only if the main process hangs are there as many. */
const MOST_UNANSWERED = 2_048

/** Authenticates the calls of a worker. */
export class TokenQuestions implements Authenticator {
  readonly #post: (message: FromWorker) => void
  /** Milliseconds since the epoch. */
  readonly #now: () => number
  readonly #calls = new Map<number, (admission: Admission) => void>()
  readonly #proved = new WeakMap<Peer, Proved>()
  readonly #asking = new WeakMap<Peer, Asking>()
  #last = 0

  constructor(post: (message: FromWorker) => void, now: () => number) {
    this.#post = post
    this.#now = now
  }

  admit(call: Pick<Call, 'peer' | 'metadata'>): Promise<void> | undefined {
    const { peer } = call
    if (needsNoToken(peer)) return undefined
    const tokens = call.metadata(ENVOY_TOKEN_HEADER)
    const proved = this.#proved.get(peer)
    if (proved === undefined || tokens.length !== 1 || tokens[0] !== proved.token)
      return this.#ask(peer, tokens)
    const age = this.#now() - proved.since
    if (age >= STALE_MS) return this.#ask(peer, tokens)
    // A refusal is for the next call to hear.
    if (age >= FRESH_MS) void this.#ask(peer, tokens).catch(() => undefined)
    return undefined
  }

  /** Like gatewayOf() of EnvoyTokens. */
  gatewayOf(peer: Peer): string | undefined {
    return needsNoToken(peer) ? undefined : (this.#proved.get(peer)?.gateway ?? '')
  }

  receive(call: number, admission: Admission): void {
    this.#calls.get(call)?.(admission)
    this.#calls.delete(call)
  }

  #ask(peer: Peer, tokens: readonly string[]): Promise<void> {
    const text = tokens.join('\n')
    const before = this.#asking.get(peer)
    if (before?.tokens === text) return before.answer
    const asking: Asking = {
      tokens: text,
      answer: this.#askOnce(peer, tokens).finally(() => {
        if (this.#asking.get(peer) === asking) this.#asking.delete(peer)
      }),
    }
    this.#asking.set(peer, asking)
    return asking.answer
  }

  async #askOnce(peer: Peer, tokens: readonly string[]): Promise<void> {
    const admission = await this.#answer(peer, tokens)
    const [token = ''] = tokens
    if (admission.refusal === undefined) {
      this.#proved.set(peer, { token, gateway: admission.gateway, since: this.#now() })
      return
    }
    if (this.#proved.get(peer)?.token === token) this.#proved.delete(peer)
    throw new GrpcError(admission.refusal.status, admission.refusal.details)
  }

  /** Resolves to what the main process says. @throws {GrpcError} if it does not answer in time. */
  #answer(peer: Peer, tokens: readonly string[]): Promise<Admission> {
    if (this.#calls.size >= MOST_UNANSWERED) return Promise.reject(noAnswer())
    const call = (this.#last += 1)
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#calls.delete(call)
        reject(noAnswer())
      }, PATIENCE_MS)
      this.#calls.set(call, (admission) => {
        clearTimeout(timer)
        resolve(admission)
      })
      this.#post({ type: 'admit', call, peer, tokens })
    })
  }
}

const noAnswer = (): GrpcError =>
  new GrpcError(Status.UNAVAILABLE, 'the token was not reviewed in time')
