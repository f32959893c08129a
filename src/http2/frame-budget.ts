// How many frames that ask for nothing a peer may send: PING, SETTINGS, PRIORITY and empty ones cost us and not the peer
// (RFC 9113, section 10.5).

import { ConnectionError, ErrorCode } from './protocol.js'

const MAX_FRAMES = 100
const PERIOD_MS = 10_000

/** Limit of frames that cost the receiver alone, for one connection (RFC 9113, section 10.5). */
export class FrameBudget {
  #count = 0
  #since = 0
  #answered = 0

  /**
   * answered: the answers sent so far. One clears the account: clients measure their line by a PING with each answer.
   * @throws {ConnectionError} more than 100 in 10 s.
   */
  take(now: number, answered: number): void {
    if (now - this.#since > PERIOD_MS || answered !== this.#answered) {
      this.#since = now
      this.#answered = answered
      this.#count = 0
    }
    this.#count += 1
    if (this.#count > MAX_FRAMES)
      throw new ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, 'too many frames that ask for nothing')
  }
}
