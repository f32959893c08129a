// Limits frames that cost the server more than the peer: PING, SETTINGS, PRIORITY, acknowledgements, frames of unknown
// types and empty frames (RFC 9113, section 10.5).

import { ConnectionError, ErrorCode } from './protocol.js'

const MAX_FRAMES = 100
const PERIOD_MS = 10_000

/** Budget of one connection for frames that cost only the receiver. */
export class FrameBudget {
  /** When each of the last MAX_FRAMES frames came; a ring. Most connections never need it. */
  #times: Float64Array | undefined
  #next = 0
  #count = 0
  #answered = 0

  /**
   * Counts one frame. A new answer resets the count, because clients measure bandwidth by a PING with each answer.
   * answered: the number of answers sent so far.
   * @throws {ConnectionError} more than 100 frames in any 10 s.
   */
  take(now: number, answered: number): void {
    const times = (this.#times ??= new Float64Array(MAX_FRAMES))
    if (answered !== this.#answered) this.#count = 0
    this.#answered = answered
    const at = this.#next
    if (this.#count === MAX_FRAMES && now - (times[at] as number) <= PERIOD_MS)
      throw new ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, 'too many frames that ask for nothing')
    times[at] = now
    this.#next = (at + 1) % MAX_FRAMES
    this.#count = Math.min(this.#count + 1, MAX_FRAMES)
  }
}
