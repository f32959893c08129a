// Sends the messages of a worker in order. Those of a list leave one in each turn of the event loop, as writing one takes
// as long as its content, and a change of all tables is hundreds.

import type { Socket } from 'node:net'
import type { ToWorker } from './messages.js'

type Waiting = Iterator<ToWorker, void> | { readonly message: ToWorker; readonly socket?: Socket }

/** The messages that a worker has not been sent yet. */
export class Outbox {
  readonly #send: (message: ToWorker, socket?: Socket) => void
  #waiting: Waiting[] = []
  #isClosed = false

  constructor(send: (message: ToWorker, socket?: Socket) => void) {
    this.#send = send
  }

  /** Sends a message: at once if none waits. */
  post(message: ToWorker, socket?: Socket): void {
    if (this.#isClosed) socket?.destroy()
    else if (this.#waiting.length === 0) this.#send(message, socket)
    else this.#waiting.push(socket === undefined ? { message } : { message, socket })
  }

  /** Sends messages in several turns, the first one at once if none waits. They are made as they are sent. */
  postInTurns(messages: Iterable<ToWorker>): void {
    if (this.#isClosed) return
    this.#waiting.push(messages[Symbol.iterator]())
    if (this.#waiting.length === 1) this.#sendNext()
  }

  /** Drops what waits, and closes its sockets. */
  close(): void {
    this.#isClosed = true
    for (const each of this.#waiting.splice(0)) if ('message' in each) each.socket?.destroy()
  }

  /** Sends up to the next message of a list. */
  #sendNext(): void {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      if ('message' in first) {
        this.#waiting.shift()
        this.#send(first.message, first.socket)
        continue
      }
      const next = first.next()
      if (next.done !== true) {
        this.#send(next.value)
        return void setImmediate(() => this.#sendNext())
      }
      this.#waiting.shift()
    }
  }
}
