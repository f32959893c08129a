// What an Envoy refused of one type, and when each of it is sent again: a refusal may be cured without a new version (a port
// that another process had, a file that was not there yet).

interface Refusal {
  readonly version: string
  readonly pauseMs: number
  /** By performance.now(). */
  readonly dueAt: number
  /** It is not sent again yet. */
  readonly waits: boolean
}

const FIRST_PAUSE_MS = 1_000
const LAST_PAUSE_MS = 60_000
/** Each is sent by itself, so that an incurable one does not hold up another; few at a time, so that thousands keep nobody busy. */
const TRIALS = 8
const TRIAL_EVERY_MS = 1_000

export class Refusals {
  readonly #byName = new Map<string, Refusal>()
  #lastTrial = -Infinity
  /** Nothing is due before it: asked at every look, so that it is kept rather than found. */
  #firstDue = Infinity

  get size(): number {
    return this.#byName.size
  }

  /** The pause begins anew with another version, and doubles with each refusal of the same one. */
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

  /** Refused in this version, and not to be sent again yet. */
  waits(name: string, version: string): boolean {
    const refusal = this.#byName.get(name)
    return refusal?.waits === true && refusal.version === version
  }

  /** Of every refusal, also while it is sent again. */
  *versions(): Iterable<readonly [name: string, version: string]> {
    for (const [name, { version }] of this.#byName) yield [name, version]
  }

  /** When to ask for what is due, by performance.now(); undefined: nothing waits. */
  get nextAt(): number | undefined {
    return Number.isFinite(this.#firstDue)
      ? Math.max(this.#firstDue, this.#lastTrial + TRIAL_EVERY_MS)
      : undefined
  }

  /** Names that are due now, the oldest first: they wait no more. */
  takeDue(now: number): readonly string[] {
    if (now < this.#firstDue || now < this.#lastTrial + TRIAL_EVERY_MS) return []
    const waiting = [...this.#byName]
      .filter(([, { waits }]) => waits)
      .sort(([, a], [, b]) => a.dueAt - b.dueAt)
    const due = waiting.slice(0, TRIALS).filter(([, { dueAt }]) => dueAt <= now)
    for (const [name, refusal] of due) this.#byName.set(name, { ...refusal, waits: false })
    this.#firstDue = waiting[due.length]?.[1].dueAt ?? Infinity
    if (due.length > 0) this.#lastTrial = now
    return due.map(([name]) => name)
  }
}
