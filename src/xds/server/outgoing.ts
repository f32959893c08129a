// Flow control of a stream, in turns with the others: one response after the other, as fast as Envoy reads.

import type { StreamCall } from '../../grpc/service.js'
import type { Turns } from './turns.js'

/** The responses that a stream has yet to write. */
export class Outgoing {
  readonly #call: StreamCall
  readonly #turns: Turns
  #sent: (() => void) | undefined

  constructor(call: StreamCall, turns: Turns) {
    this.#call = call
    this.#turns = turns
  }

  /** Sends a response; calls sent later, when there is room for more. */
  send(response: readonly Buffer[], sent: () => void): void {
    if (this.#call.sendParts(response)) setImmediate(() => this.#turns.run(sent))
    else this.#sent = sent
  }

  drained(): void {
    const sent = this.#sent
    this.#sent = undefined
    if (sent !== undefined) this.#turns.run(sent)
  }
}

/** Processes one message at a time; pauses the call while a message waits for its turn. */
export function takeInTurn(call: StreamCall, turns: Turns, take: () => void): void {
  let isPaused = false
  const isDone = turns.run(() => {
    take()
    if (isPaused) call.resume()
  })
  if (isDone) return
  isPaused = true
  call.pause()
}
