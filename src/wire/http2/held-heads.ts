// Counts the header lists of a connection's open streams, and its unfinished header block, in a budget of all connections.

/** The part of one connection in a budget of bytes. */
export interface ByteAccount {
  /** Adds bytes; a negative number gives them back. false: they would exceed the budget; nothing is added. */
  add(bytes: number): boolean
}

/**
 * Bytes are counted in steps, because the budget of several processes is a file. The first step is free: some calls of
 * every connection can go on while others have used the budget up.
 */
const STEP_BYTES = 16 * 1024

/** Memory held by the headers of one connection. */
export class HeldHeads {
  readonly #account: ByteAccount
  #bytes = 0
  #counted = 0

  constructor(account: ByteAccount) {
    this.#account = account
  }

  /** Adds bytes; a negative number gives them back. false: the budget is used up; nothing is added. */
  add(bytes: number): boolean {
    const all = this.#bytes + bytes
    const needed = Math.max(0, Math.ceil(all / STEP_BYTES) - 1) * STEP_BYTES
    // One step stays until nothing is held: calls that come and go must not ask the budget each time.
    const isLeft = all === 0 ? this.#counted > 0 : needed < this.#counted - STEP_BYTES
    if (needed > this.#counted || isLeft) {
      if (!this.#account.add(needed - this.#counted)) return false
      this.#counted = needed
    }
    this.#bytes = all
    return true
  }
}
