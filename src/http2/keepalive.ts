// Finds peers that are gone, silent from the start, or do not read: by what was heard and sent, and PING (RFC 9113, section 6.7).

/** Without a word for so long, the peer is asked. */
const IDLE_MS = 30_000
const ANSWER_MS = 10_000
const PREFACE_MS = 10_000
/** The socket holds bytes, and the peer takes none of them. */
const READ_MS = 30_000

/** What a connection has heard and still has to send. */
export interface Line {
  readonly hasPreface: boolean
  /** Bytes that the socket holds, where these are too many. */
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

  /** Anything at all. */
  heard(now: number): void {
    this.#heardAt = now
    this.#askedAt = undefined
  }

  look(now: number, { hasPreface, pending }: Line): 'ping' | 'dead' | 'well' {
    if (!hasPreface) return now - this.#since > PREFACE_MS ? 'dead' : 'well'
    if (pending === 0 || pending < this.#pending) this.#pendingSince = now
    this.#pending = pending
    // While it does not read we do not either: it may well have spoken.
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
