// Limits what made-up tokens cost the API server: anyone who reaches the gRPC address can send them.

/** Maximum number of reviews of one address in a window that have not confirmed the token. */
const MAX_SPENT = 8
/** Length of the window in milliseconds. */
const WINDOW = 60_000
/** Maximum number of addresses that are counted in a window; reviews of others wait for the next. */
const MAX_ADDRESSES = 10_000

/** How many reviews each address has left. A review costs one, and returns it unless the token is refused. */
export class ReviewBudget {
  readonly #now: () => number
  readonly #spent = new Map<string, number>()
  #begun = 0

  /** now: milliseconds since the epoch. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Takes one review of the address. Returns false if none is left. */
  take(address: string): boolean {
    if (this.#now() >= this.#begun + WINDOW) {
      this.#begun = this.#now()
      this.#spent.clear()
    }
    const spent = this.#spent.get(address)
    if ((spent ?? 0) >= MAX_SPENT) return false
    if (spent === undefined && this.#spent.size >= MAX_ADDRESSES) return false
    this.#spent.set(address, (spent ?? 0) + 1)
    return true
  }

  /** Returns a review that take() took. */
  giveBack(address: string): void {
    const spent = this.#spent.get(address) ?? 0
    if (spent > 1) this.#spent.set(address, spent - 1)
    else this.#spent.delete(address)
  }
}
