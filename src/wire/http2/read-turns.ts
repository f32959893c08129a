// Limits how much input of all connections together is handled in one turn of the event loop: a hundred clients that
// send large messages at once must not delay the others.

/** Bytes handled in a turn, which take a few milliseconds. */
const MOST = 512 * 1024
/** Shorter reads do not count: most checks are shorter, and need not pay for the count. */
const LEAST = 4_096

/** Turns of the connections that share a thread. */
export class ReadTurns {
  readonly #waiting: (() => void)[] = []
  /** Bytes counted since the last turn. */
  #bytes = 0
  readonly #turn = (): void => {
    this.#bytes = 0
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      next()
      if (this.#bytes >= MOST) break
    }
  }

  /** Counts a read. Returns false if it must wait for a later turn: call later(), and stop reading from its socket. */
  take(length: number): boolean {
    if (length < LEAST) return true
    if (this.#bytes >= MOST || this.#waiting.length > 0) return false
    this.#count(length)
    return true
  }

  /** Calls back in a later turn that has room, in the order of the calls. */
  later(length: number, handle: () => void): void {
    this.#waiting.push(() => {
      this.#count(length)
      handle()
    })
  }

  #count(length: number): void {
    if (this.#bytes === 0) setImmediate(this.#turn)
    this.#bytes += length
  }
}
