// Limits frames that cost the server more than the peer: PING, SETTINGS, PRIORITY and empty frames
// (RFC 9113, section 10.5).

import { ConnectionError, ErrorCode } from './protocol.js'

const MAX_FRAMES = 100
const PERIOD_MS = 10_000

/** Budget of one connection for frames that cost only the receiver. */
export class FrameBudget {
  #count = 0
  #since = 0
  #answered = 0

  /**
   * Counts one frame. A new answer resets the count, because clients measure bandwidth by a PING with each answer.
   * answered: the number of answers sent so far.
   * @throws {ConnectionError} more than 100 frames in 10 s.
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
