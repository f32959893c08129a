// Retry schedule for NACKed resources of one type: the cause may pass without a new version (a port that another
// process had, a file that did not exist yet).

interface Retry {
  readonly version: string
  readonly pauseMs: number
  /** When it is due, by performance.now(). */
  readonly dueAt: number
  /** Whether it still waits to be sent again. */
  readonly waits: boolean
}

const FIRST_PAUSE_MS = 1_000
const LAST_PAUSE_MS = 60_000
/**
 * Maximum number of retries at a time. Each is sent by itself, so an incurable one does not block others; few at a
 * time, so thousands of them cause little load.
 */
const TRIALS = 8
const TRIAL_EVERY_MS = 1_000

/** The NACKed resources of one type, and when to send each again. */
export class NackRetries {
  readonly #byName = new Map<string, Retry>()
  #lastTrial = -Infinity
  /** Earliest time at which anything is due; kept because every check asks for it. */
  #firstDue = Infinity

  get size(): number {
    return this.#byName.size
  }

  /** Records a NACK. The pause starts over with another version and doubles with each NACK of the same one. */
  add(name: string, version: string, now: number): void {
    const before = this.#byName.get(name)
    const pauseMs =
      before?.version === version ? Math.min(before.pauseMs * 2, LAST_PAUSE_MS) : FIRST_PAUSE_MS
    this.#byName.set(name, { version, pauseMs, dueAt: now + pauseMs, waits: true })
    this.#firstDue = Math.min(this.#firstDue, now + pauseMs)
  }

  delete(name: string): boolean {
    return this.#byName.delete(name)
  }

  /** Whether this version was rejected and must not be sent again yet. */
  waits(name: string, version: string): boolean {
    const retry = this.#byName.get(name)
    return retry?.waits === true && retry.version === version
  }

  /** Names and versions of everything rejected, including what is being sent again. */
  *versions(): Iterable<readonly [name: string, version: string]> {
    for (const [name, { version }] of this.#byName) yield [name, version]
  }

  /** When to call takeDue() next, by performance.now(); undefined if nothing waits. */
  get nextAt(): number | undefined {
    return Number.isFinite(this.#firstDue)
      ? Math.max(this.#firstDue, this.#lastTrial + TRIAL_EVERY_MS)
      : undefined
  }

  /** Removes the wait from the names that are due, and returns them, oldest first. */
  takeDue(now: number): readonly string[] {
    if (now < this.#firstDue || now < this.#lastTrial + TRIAL_EVERY_MS) return []
    const waiting = [...this.#byName]
      .filter(([, { waits }]) => waits)
      .sort(([, a], [, b]) => a.dueAt - b.dueAt)
    const due = waiting.slice(0, TRIALS).filter(([, { dueAt }]) => dueAt <= now)
    for (const [name, retry] of due) this.#byName.set(name, { ...retry, waits: false })
    this.#firstDue = waiting[due.length]?.[1].dueAt ?? Infinity
    if (due.length > 0) this.#lastTrial = now
    return due.map(([name]) => name)
  }
}
