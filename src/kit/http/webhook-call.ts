// One call of a webhook, from the queue to the answer.

import type { Phase } from '../../model/proc-entry.js'
import type { RemoteTarget } from '../../model/remote-target.js'
import type { Ending } from '../ending.js'
import { err, ok, type Result } from '../result.js'
import { RemoteError, type RemoteFailure, remoteFailureOf } from './connect/remote-failure.js'
import { MAX_TIMER_MS, type TargetConnection } from './connection.js'
import { type Answer, decodedBody } from './exchange.js'
import { MOST_WAITING, type WebhookLine } from './webhook-line.js'

/** A call of a webhook. */
export interface PooledCall {
  /** Calls with the same backend and limits share connections. */
  readonly backend: string
  readonly target: RemoteTarget
  /** Maximum connections; 0: no limit. */
  readonly maxConnections: number
  /** How long an idle connection is kept, unless the server closes it before; 0: no limit. */
  readonly keepAliveSeconds: number
  /** Replies get a connection before prompts. */
  readonly phase: Phase
  readonly method: string
  /** Path with the query. */
  readonly path: string
  /** Headers with lower-case names, including host. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /** Timeout of the whole call, queue included, in milliseconds; absent: only the wait for a connection is limited. */
  readonly timeoutMs?: number | undefined
  readonly maxBytes: number
  /** Aborts the call. */
  readonly signal: Ending
}

/** An answer with its whole body, in few parts. */
export interface WebhookAnswer {
  readonly status: number
  readonly body: readonly Uint8Array[]
}

/** The answer, or why there is none. */
export type CallResult = Result<WebhookAnswer, RemoteFailure>

/** A connection that a call has alone. */
export interface WebhookLease {
  readonly connection: TargetConnection
  /** Must be called when the call has ended. */
  readonly release: () => void
}

/** Longest wait for a connection of a call without a timeout, in milliseconds. */
export const CONNECTION_MS = 30_000

/** A call in progress. */
export class WebhookCall {
  #timer: NodeJS.Timeout | undefined
  /** Ends what the call waits for. */
  #end: ((failure: RemoteFailure) => void) | undefined

  /** take: called only when the call may start. */
  constructor(
    private readonly call: PooledCall,
    private readonly line: WebhookLine,
    private readonly take: () => WebhookLease,
  ) {}

  /** Never rejects. */
  async result(): Promise<CallResult> {
    const { signal, timeoutMs, maxBytes } = this.call
    if (signal.aborted) return err({ type: 'aborted' })
    signal.addEventListener('abort', this.#onAbort)
    if (timeoutMs !== undefined) this.#endAfter(timeoutMs, { type: 'timeout', timeoutMs })
    try {
      const answer = await this.#exchange(await this.#turn())
      const body = await this.#unpack(decodedBody(answer, maxBytes))
      return signal.aborted ? err({ type: 'aborted' }) : ok({ status: answer.status, body })
    } catch (error) {
      return err(remoteFailureOf(error))
    } finally {
      clearTimeout(this.#timer)
      signal.removeEventListener('abort', this.#onAbort)
    }
  }

  readonly #onAbort = (): void => this.#end?.({ type: 'aborted' })

  #endAfter(ms: number, failure: RemoteFailure): void {
    this.#timer = setTimeout(() => this.#end?.(failure), Math.min(ms, MAX_TIMER_MS))
  }

  /**
   * Waits for a place, and takes a connection at once, as the webhook's endpoints may change at any time. Only a call without
   * a timeout has a limit for this alone.
   */
  #turn(): Promise<WebhookLease> {
    const { phase, timeoutMs } = this.call
    return new Promise((resolve, reject) => {
      const leave = this.line.enter(phase, () => {
        if (timeoutMs === undefined) clearTimeout(this.#timer)
        const lease = this.take()
        // A call that ends closes its connection with the rest of the answer.
        this.#end = (failure) => void lease.connection.destroy(failure)
        resolve(lease)
      })
      if (leave === undefined) reject(new RemoteError({ type: 'busy', waiting: MOST_WAITING }))
      else if (this.#end === undefined) {
        this.#end = (failure) => {
          leave()
          reject(new RemoteError(failure))
        }
        if (timeoutMs === undefined)
          this.#endAfter(CONNECTION_MS, { type: 'no-connection', waitedMs: CONNECTION_MS })
      }
    })
  }

  /** The threads that unpack may be busy for longer than the call may take. */
  #unpack<T>(body: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#end = (failure) => reject(new RemoteError(failure))
      body.then(resolve, reject)
    })
  }

  async #exchange({ connection, release }: WebhookLease): Promise<Answer> {
    try {
      return await connection.exchange({ ...this.call, takesBareErrors: true })
    } finally {
      // The connection is another call's from here on, even if this one still unpacks its answer.
      this.#end = undefined
      release()
      this.line.leave()
    }
  }
}
