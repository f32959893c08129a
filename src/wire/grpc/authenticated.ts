// Services that serve only calls whose client has proved who it is. A call waits until that is known.

import type {
  Call,
  GrpcMethod,
  GrpcService,
  StreamCall,
  StreamListener,
  StreamMethod,
} from './service.js'
import { GrpcError, Status } from './status.js'

/** Decides which calls are served. */
export interface Authenticator {
  /** Returns undefined if the call is served now. Otherwise resolves when it is, and rejects (GrpcError) if it is not. */
  admit(call: Call): Promise<void> | undefined
}

/** How often the client of a lasting call is authenticated again, in milliseconds. */
const AGAIN_MS = 60_000

/** Returns the service with an authenticator in front of each of its methods. */
export const authenticated = (
  service: GrpcService,
  authenticator: Authenticator,
  againMs = AGAIN_MS,
): GrpcService => ({
  name: service.name,
  methods: Object.fromEntries(
    Object.entries(service.methods).map(([name, method]) => [
      name,
      authenticatedMethod(
        method.type === 'stream' && method.isLasting
          ? { ...method, open: (call) => new LastingStream(call, method, authenticator, againMs) }
          : method,
        authenticator,
      ),
    ]),
  ),
  drain: (timeoutMs) => service.drain?.(timeoutMs),
})

function authenticatedMethod(method: GrpcMethod, authenticator: Authenticator): GrpcMethod {
  if (method.type === 'unary')
    return {
      ...method,
      // With the headers: nobody else must be able to hold memory with messages that do not end.
      admit: (call) => authenticator.admit(call),
    }
  return {
    ...method,
    open: (call) => {
      const admitted = authenticator.admit(call)
      return admitted === undefined ? method.open(call) : new WaitingStream(call, admitted, method)
    },
  }
}

/** A stream that receives nothing until its client is known. */
class WaitingStream implements StreamListener {
  #listener: StreamListener | undefined

  constructor(
    call: StreamCall,
    admitted: Promise<void>,
    private readonly method: StreamMethod,
  ) {
    call.pause()
    void admitted.then(
      () => this.#begin(call),
      (error: unknown) => this.#fail(call, error),
    )
  }

  #begin(call: StreamCall): void {
    if (call.isCancelled()) return
    try {
      this.#listener = this.method.open(call)
    } catch (error) {
      return this.#fail(call, error)
    }
    call.resume()
  }

  #fail(call: StreamCall, error: unknown): void {
    try {
      const refusal = this.method.refusal?.(error)
      if (refusal !== undefined) call.send(refusal)
    } catch (fault) {
      return fail(call, fault)
    }
    fail(call, error)
  }

  refusal(error: unknown): Uint8Array | undefined {
    return (this.#listener ?? this.method).refusal?.(error)
  }

  onMessage(message: Buffer): void {
    this.#listener?.onMessage(message)
  }

  onEnd(): void {
    this.#listener?.onEnd()
  }

  onCancel(): void {
    this.#listener?.onCancel()
  }

  onDrain(): void {
    this.#listener?.onDrain()
  }
}

/** A stream that ends when its client is no longer known: its token has expired or was revoked. */
class LastingStream implements StreamListener {
  readonly #listener: StreamListener
  readonly #timer: NodeJS.Timeout

  constructor(
    call: StreamCall,
    method: StreamMethod,
    authenticator: Authenticator,
    againMs: number,
  ) {
    this.#listener = method.open(call)
    this.#timer = setInterval(() => {
      if (call.isCancelled()) return clearInterval(this.#timer)
      void authenticator.admit(call)?.catch((error: unknown) => this.#fail(call, error))
    }, againMs)
    this.#timer.unref()
  }

  #fail(call: StreamCall, error: unknown): void {
    if (call.isCancelled()) return
    fail(call, error)
    this.onCancel()
  }

  onMessage(message: Buffer): void {
    this.#listener.onMessage(message)
  }

  onEnd(): void {
    this.#listener.onEnd()
  }

  onCancel(): void {
    clearInterval(this.#timer)
    this.#listener.onCancel()
  }

  onDrain(): void {
    this.#listener.onDrain()
  }
}

function fail(call: StreamCall, error: unknown): void {
  if (error instanceof GrpcError) call.end(error.status, error.message)
  else call.end(Status.UNKNOWN, 'the call failed')
}
