// Per-object exponential backoff for objects that could not be applied, so that those of one namespace do not delay the others.

/** Pauses in milliseconds. */
const FIRST_PAUSE = 1_000
const LONGEST_PAUSE = 30_000

interface Failure {
  /** The content that failed; another one is tried at once. */
  readonly text: string
  readonly problem: string
  readonly milliseconds: number
  /** By performance.now(). */
  readonly until: number
}

/** The pauses of objects that could not be applied. */
export class ApplyRetries {
  readonly #failures = new Map<string, Failure>()

  /** Returns why the object could not be applied if its pause is not over; undefined: try now. */
  waiting(key: string, text: string): string | undefined {
    const failure = this.#failures.get(key)
    return failure?.text === text && failure.until > performance.now() ? failure.problem : undefined
  }

  /**
   * Records a failure. The next pause is twice as long.
   * @param atLeast shortest pause that the API server asks for, in milliseconds.
   */
  failed(key: string, text: string, problem: string, atLeast = 0): void {
    const before = this.#failures.get(key)
    const isSame = before?.text === text
    const milliseconds = isSame ? Math.min(before.milliseconds * 2, LONGEST_PAUSE) : FIRST_PAUSE
    const until = performance.now() + Math.max(milliseconds, atLeast)
    this.#failures.set(key, { text, problem, milliseconds, until })
  }

  succeeded(key: string): void {
    this.#failures.delete(key)
  }

  /** Forgets the objects that are neither wanted nor to be removed. */
  keep(isOf: (key: string) => boolean): void {
    for (const key of this.#failures.keys()) if (!isOf(key)) this.#failures.delete(key)
  }

  clear(): void {
    this.#failures.clear()
  }

  /** Returns the milliseconds to the next try; undefined: nothing has failed. */
  pause(): number | undefined {
    const ends = [...this.#failures.values()].map(({ until }) => until)
    return ends.length === 0 ? undefined : Math.max(0, Math.min(...ends) - performance.now())
  }
}
