// One call of a webhook, from the queue to the answer.

import type { Phase } from '../../model/proc-entry.js'
import type { RemoteTarget } from '../../model/remote-target.js'
import { ByteCollector, joined } from '../byte-collector.js'
import type { Ending } from '../ending.js'
import { err, ok, type Result } from '../result.js'
import type { AnswerHead } from './answer-head.js'
import { codeOf, RemoteError, type RemoteFailure } from './connect/remote-failure.js'
import { decodeBody } from './exchange.js'
import type { CallDispatcher, CallHandler } from './webhook-connection.js'
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

/** Longest wait for a connection of a call without a timeout, in milliseconds. */
export const CONNECTION_MS = 30_000
/** Longest timer of Node; a later deadline is in practice none. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Error codes of a kept connection that the server closed just before it was used. */
const LOST = new Set(['ECONNRESET', 'EPIPE'])

/** A call in progress. */
export class WebhookCall implements CallHandler {
  wasKept = false
  isRepeated = false

  #timer: NodeJS.Timeout | undefined
  #state: 'waiting' | 'calling' | 'ended' = 'waiting'
  #isSettled = false
  #isArmed = false
  #abort: ((reason: Error) => void) | undefined
  #status = 0
  #encoding = ''
  readonly #bytes = new ByteCollector()
  #leaveLine: (() => void) | undefined

  /** pool: called only when the call may start, because the webhook's endpoints may change while it waits. */
  constructor(
    private readonly call: PooledCall,
    private readonly line: WebhookLine,
    private readonly pool: () => CallDispatcher,
    private readonly resolve: (result: CallResult) => void,
  ) {}

  start(): void {
    const { signal, phase } = this.call
    if (signal.aborted) return this.#settle(err({ type: 'aborted' }))
    this.#leaveLine = this.line.enter(phase, () => this.#dispatch())
    if (this.#leaveLine === undefined)
      return this.#settle(err({ type: 'busy', waiting: MOST_WAITING }))
    if (!this.#isSettled) this.#arm()
  }

  /** Called when the request has left, as its webhook need not wait for this, or before a connection is made for it. */
  #arm(): void {
    if (this.#isArmed) return
    this.#isArmed = true
    const { signal, timeoutMs } = this.call
    signal.addEventListener('abort', this.#onAbort)
    if (timeoutMs !== undefined) this.#stopAfter(timeoutMs, { type: 'timeout', timeoutMs })
    else if (this.#state === 'waiting')
      this.#stopAfter(CONNECTION_MS, { type: 'no-connection', waitedMs: CONNECTION_MS })
  }

  #stopAfter(ms: number, failure: RemoteFailure): void {
    this.#timer = setTimeout(() => this.#stop(failure), Math.min(ms, MAX_TIMER_MS))
  }

  #dispatch(): void {
    this.#state = 'calling'
    if (this.call.timeoutMs === undefined) clearTimeout(this.#timer)
    this.pool().dispatch(this.call, this)
  }

  readonly #onAbort = (): void => this.#stop({ type: 'aborted' })

  /** Fails the call. If it has started, its connection is closed with the rest of the answer. */
  #stop(failure: RemoteFailure): void {
    this.#settle(err(failure))
    if (this.#state === 'waiting') this.#leaveLine?.()
    else this.#abort?.(new RemoteError(failure))
  }

  #settle(result: CallResult): void {
    if (this.#isSettled) return
    this.#isSettled = true
    clearTimeout(this.#timer)
    this.call.signal.removeEventListener('abort', this.#onAbort)
    this.resolve(result.ok ? result : this.#answerDespite(result.error))
  }

  /** An error status says enough: a webhook that refuses a long question may close before all of its answer is read. */
  #answerDespite(failure: RemoteFailure): CallResult {
    const status = this.#status
    return status >= 400 && failure.type !== 'aborted' ? ok({ status, body: [] }) : err(failure)
  }

  #end(): void {
    if (this.#state !== 'calling') return
    this.#state = 'ended'
    // The connection is another call's from here on, even if this one still unpacks its answer.
    this.#abort = undefined
    this.line.leave()
  }

  #fail(error: unknown): void {
    this.#settle(
      err(error instanceof RemoteError ? error.failure : { type: 'broken', code: codeOf(error) }),
    )
    this.#end()
  }

  onConnect(): void {
    this.#arm()
  }

  onStart(abort: (reason: Error) => void): boolean {
    this.#abort = abort
    // The call may have ended while its connection was being made.
    if (this.#isSettled) this.#end()
    return !this.#isSettled
  }

  onHead({ status, encoding }: AnswerHead): void {
    this.#status = status
    this.#encoding = encoding
    if (status >= 300 && status < 400) this.#stop({ type: 'redirect', status })
  }

  onData(chunk: Buffer): void {
    const { maxBytes } = this.call
    if (this.#bytes.size + chunk.length > maxBytes) this.#stop({ type: 'too-large', maxBytes })
    else this.#bytes.add(chunk)
  }

  onEnd(): void {
    this.#end()
    const body = this.#bytes.take()
    if (this.#encoding === '') return this.#settle(ok({ status: this.#status, body }))
    decodeBody(joined(body), this.#encoding, this.call.maxBytes).then(
      (decoded) => this.#settle(ok({ status: this.#status, body: [decoded] })),
      (error: unknown) => this.#fail(error),
    )
  }

  /** Repeats a call that a kept connection lost unread, but not one sent over a new one (RFC 9110 section 9.2.2). */
  onError(error: unknown, hasBegun: boolean): void {
    const mayRepeat = this.wasKept && !hasBegun && !this.#isSettled && !this.isRepeated
    if (!mayRepeat || !LOST.has(codeOf(error))) return this.#fail(error)
    this.isRepeated = true
    this.wasKept = false
    this.#abort = undefined
    this.#dispatch()
  }
}
