// Lets pieces of work that wait for a turn of the event loop have only a few milliseconds of it together: a hundred long
// bodies would otherwise each take a slice in every turn, and all else would wait for all of them.

/** Milliseconds in a turn, after which those that still wait have to wait for the next one, and so has what comes new. */
const TURN_MS = 4
/** What a piece of work takes at least. */
const SHORTEST_MS = 0.001
/** Milliseconds of work after which the end of the turn is waited for: most turns have less, and need not wait. */
const NOTED_MS = 0.5

/** Work that waits for a turn. Owners take turns with each other; the work of one has them in the order in which it came. */
export class TurnLine {
  readonly #now: () => number
  /** What waits by owner, the next owner first. */
  readonly #waiting = new Map<unknown, (() => void)[]>()
  #count = 0
  #isServing = false
  /** Milliseconds that work took in this turn which began without waiting; up to NOTED_MS of them in turns before. */
  #begun = 0
  #isEndAwaited = false
  readonly #endTurn = (): void => {
    this.#begun = 0
    this.#isEndAwaited = false
  }

  /** @param now returns milliseconds, such as performance.now(). */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Resolves in a later turn of the event loop that has room. owner: absent if all have the same. */
  wait(owner?: object): Promise<void> {
    return new Promise((resolve) => {
      const own = this.#waiting.get(owner)
      if (own === undefined) this.#waiting.set(owner, [resolve])
      else own.push(resolve)
      this.#count += 1
      if (this.#isServing) return
      this.#isServing = true
      setImmediate(() => void this.#serve())
    })
  }

  /** Whether new work may begin in this turn: many that come at once would take as long as all of them together. */
  hasRoom(): boolean {
    return this.#begun < TURN_MS
  }

  /** Does new work in this turn. */
  begin<T>(work: () => T): T {
    const start = this.#now()
    try {
      return work()
    } finally {
      // Even a clock that stands still counts it.
      this.#begun += Math.max(this.#now() - start, SHORTEST_MS)
      this.#awaitEnd()
    }
  }

  #awaitEnd(): void {
    if (this.#begun < NOTED_MS || this.#isEndAwaited) return
    this.#isEndAwaited = true
    setImmediate(this.#endTurn)
  }

  async #serve(): Promise<void> {
    const end = this.#now() + TURN_MS
    // Those that come meanwhile have had their part of this turn.
    for (let left = this.#count; left > 0; left -= 1) {
      this.#next()
      // What waited goes on before this does.
      await Promise.resolve()
      if (this.#now() >= end) break
    }
    if (this.#count > 0) setImmediate(() => void this.#serve())
    else this.#isServing = false
  }

  #next(): void {
    for (const [owner, own] of this.#waiting) {
      this.#waiting.delete(owner)
      const resolve = own.shift()
      if (own.length > 0) this.#waiting.set(owner, own)
      this.#count -= 1
      resolve?.()
      return
    }
  }
}
