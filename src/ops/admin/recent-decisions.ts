// Keeps the latest lines of the decision log for the status page.

/** A line of the decision log. */
export interface RecentDecision {
  /** Unique, also among the lines of several processes. */
  readonly id: string
  /** When it was written, in milliseconds since the epoch. */
  readonly at: number
  /** The msg of the line, such as "decision" (docs/decision-log.md). */
  readonly message: string
  /** Fields of the line, in which the decision log has hidden what may be secret. */
  readonly fields: Readonly<Record<string, unknown>>
}

/** How many lines are kept. */
export const KEPT_DECISIONS = 200

/** Where the lines come from. */
export interface RecentDecisionsOptions {
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Number of this worker; absent: the main process. */
  readonly worker?: number
}

/** A ring of lines: a new one replaces the oldest. */
export class RecentDecisions {
  readonly #options: RecentDecisionsOptions
  readonly #ring: RecentDecision[] = []
  #count = 0

  constructor(options: RecentDecisionsOptions) {
    this.#options = options
  }

  add(message: string, fields: object): void {
    const { now, worker = 0 } = this.#options
    this.#ring[this.#count % KEPT_DECISIONS] = {
      id: `${worker}-${this.#count}`,
      at: now(),
      message,
      fields: fields as Readonly<Record<string, unknown>>,
    }
    this.#count += 1
  }

  /** Returns the lines, in no order. */
  lines(): readonly RecentDecision[] {
    return [...this.#ring]
  }
}

/** Returns the latest lines of several processes, newest first. */
export const latestOf = (
  lines: readonly (readonly RecentDecision[])[],
): readonly RecentDecision[] =>
  lines
    .flat()
    .sort((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1))
    .slice(0, KEPT_DECISIONS)
