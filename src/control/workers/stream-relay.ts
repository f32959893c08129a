// In the main process: turns the streams forwarded by one worker into calls of the services.

import { errorKind } from '../../kit/errors.js'
import type { Logger } from '../../kit/logger.js'
import { ENVOY_TOKEN_HEADER } from '../../model/names.js'
import type { Peer } from '../../wire/grpc/peer.js'
import type { GrpcService, StreamCall, StreamListener } from '../../wire/grpc/service.js'
import { GrpcError, Status } from '../../wire/grpc/status.js'
import type { StreamToMain, StreamToWorker } from './messages.js'

/** Maximum bytes under way to a client; the message that exceeds it is still sent, and the next one has to wait. */
const WINDOW = 256 * 1024

/** The forwarded streams of one worker. */
export class StreamRelay {
  readonly #open = new Map<number, RelayedCall>()
  readonly #services: readonly GrpcService[]
  readonly #post: (message: StreamToWorker) => void
  readonly #logger: Logger

  constructor(
    services: readonly GrpcService[],
    post: (message: StreamToWorker) => void,
    logger: Logger,
  ) {
    this.#services = services
    this.#post = post
    this.#logger = logger
  }

  receive(message: StreamToMain): void {
    if (message.type === 'stream-open') return this.#begin(message)
    const call = this.#open.get(message.stream)
    if (call === undefined) return
    switch (message.type) {
      case 'stream-message':
        return call.receive(
          Buffer.from(message.message.buffer, message.message.byteOffset, message.message.length),
        )
      case 'stream-taken':
        return call.taken(message.bytes)
      case 'stream-done':
        return message.how === 'end' ? call.receiveEnd() : call.cancel()
    }
  }

  /** Cancels all streams, because the worker has ended. */
  close(): void {
    for (const call of [...this.#open.values()]) call.cancel()
  }

  #begin(opened: StreamOpen): void {
    const { stream, service, method } = opened
    const found = this.#services.find(({ name }) => name === service)?.methods[method]
    if (found?.type !== 'stream') {
      this.#post({
        type: 'stream-end',
        stream,
        status: Status.UNIMPLEMENTED,
        details: 'no such method',
      })
      return
    }
    const call = new RelayedCall(opened, {
      post: this.#post,
      onFault: (error) => this.#logger.error({ error: errorKind(error) }, 'a call failed'),
      onOver: () => this.#open.delete(stream),
    })
    this.#open.set(stream, call)
    call.open(found)
  }
}

type StreamOpen = Extract<StreamToMain, { readonly type: 'stream-open' }>

interface RelayedCallDeps {
  readonly post: (message: StreamToWorker) => void
  readonly onFault: (error: unknown) => void
  readonly onOver: () => void
}

class RelayedCall implements StreamCall {
  #listener: StreamListener | undefined
  readonly #waiting: Buffer[] = []
  #hasEnded = false
  #isPaused = false
  #isOver = false
  #isDelivering = false
  #untaken = 0

  readonly peer: Peer
  readonly deadline: number
  readonly #stream: number
  readonly #tokens: readonly string[]

  constructor(
    { stream, peer, deadline, tokens }: StreamOpen,
    private readonly deps: RelayedCallDeps,
  ) {
    this.#stream = stream
    this.peer = peer
    this.deadline = deadline
    this.#tokens = tokens
  }

  open(method: { open(call: StreamCall): StreamListener }): void {
    this.#guard(() => {
      const listener = method.open(this)
      if (!this.#isOver) this.#listener = listener
    })
  }

  isCancelled(): boolean {
    return this.#isOver
  }

  /** Returns the values of the header with a token, the only one that is forwarded. */
  metadata(name: string): readonly string[] {
    return name === ENVOY_TOKEN_HEADER ? this.#tokens : []
  }

  send(message: Uint8Array): boolean {
    if (this.#isOver) return true
    this.deps.post({ type: 'stream-send', stream: this.#stream, message })
    this.#untaken += message.length
    return this.#untaken <= WINDOW
  }

  sendParts(parts: readonly Buffer[]): boolean {
    return this.send(Buffer.concat(parts))
  }

  end(status: Status = Status.OK, details = ''): void {
    if (this.#isOver) return
    this.deps.post({ type: 'stream-end', stream: this.#stream, status, details })
    this.#finish()
  }

  pause(): void {
    this.#hold(true)
  }

  resume(): void {
    this.#hold(false)
    this.#deliver()
  }

  receive(message: Buffer): void {
    this.#waiting.push(message)
    this.#deliver()
  }

  receiveEnd(): void {
    this.#hasEnded = true
    this.#deliver()
  }

  taken(bytes: number): void {
    const wasFull = this.#untaken > WINDOW
    this.#untaken -= bytes
    if (wasFull && this.#untaken <= WINDOW) this.#guard(() => this.#listener?.onDrain())
  }

  cancel(): void {
    if (this.#isOver) return
    const listener = this.#listener
    this.#finish()
    this.#guard(() => listener?.onCancel())
  }

  #hold(paused: boolean): void {
    if (this.#isPaused === paused || this.#isOver) return
    this.#isPaused = paused
    this.deps.post({ type: 'stream-pause', stream: this.#stream, paused })
  }

  /** Delivers waiting messages. A listener that resumes while it handles a message gets the next one afterwards. */
  #deliver(): void {
    if (this.#isDelivering) return
    this.#isDelivering = true
    this.#guard(() => {
      while (!this.#isPaused && !this.#isOver) {
        const message = this.#waiting.shift()
        if (message === undefined) break
        this.#listener?.onMessage(message)
      }
      if (this.#isPaused || this.#isOver || !this.#hasEnded) return
      this.#hasEnded = false
      this.#listener?.onEnd()
    })
    this.#isDelivering = false
  }

  #guard(act: () => void): void {
    try {
      act()
    } catch (error) {
      if (!(error instanceof GrpcError)) this.deps.onFault(error)
      const listener = this.#listener
      if (this.#isOver) return
      if (error instanceof GrpcError) this.end(error.status, error.message)
      else this.end(Status.UNKNOWN, 'the call failed')
      this.#guard(() => listener?.onCancel())
    }
  }

  #finish(): void {
    this.#isOver = true
    this.#listener = undefined
    this.#waiting.length = 0
    this.deps.onOver()
  }
}
