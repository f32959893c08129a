// Detects peers that are gone, send no preface or do not read, by their traffic and by PING (RFC 9113, section 6.7).

/** Silence after which the peer is sent a PING. */
const IDLE_MS = 30_000
const ANSWER_MS = 10_000
const PREFACE_MS = 10_000
/** Longest time that bytes stay in the socket while the peer takes none of them. */
const READ_MS = 30_000

/** State of a connection as the keepalive sees it. */
export interface Line {
  readonly hasPreface: boolean
  /** Bytes buffered in the socket while sending is blocked, otherwise 0. */
  readonly pending: number
}

/** Timers of one connection: decides when to send a PING (RFC 9113, section 6.7) and when the peer counts as gone. */
export class Keepalive {
  static readonly PAYLOAD = Buffer.from('there???', 'latin1')

  readonly #since: number
  #heardAt: number
  #askedAt: number | undefined
  #pending = 0
  #pendingSince: number

  constructor(now: number) {
    this.#since = now
    this.#heardAt = now
    this.#pendingSince = now
  }

  /** Called when any bytes have arrived. */
  heard(now: number): void {
    this.#heardAt = now
    this.#askedAt = undefined
  }

  look(now: number, { hasPreface, pending }: Line): 'ping' | 'dead' | 'well' {
    if (!hasPreface) return now - this.#since > PREFACE_MS ? 'dead' : 'well'
    if (pending === 0 || pending < this.#pending) this.#pendingSince = now
    this.#pending = pending
    // While the peer does not read, this side does not read either, so silence proves nothing.
    if (pending > 0) {
      this.#askedAt = undefined
      this.#heardAt = now
      return now - this.#pendingSince > READ_MS ? 'dead' : 'well'
    }
    if (this.#askedAt !== undefined) return now - this.#askedAt > ANSWER_MS ? 'dead' : 'well'
    if (now - this.#heardAt < IDLE_MS) return 'well'
    this.#askedAt = now
    return 'ping'
  }
}
