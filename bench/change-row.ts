// The rows that one-change.ts prints: one for each number of routes and policies.

export interface ChangeRow {
  readonly count: number
  /** CPU milliseconds: a full translation, and the medians of one changed route and of one changed policy. */
  readonly all: number
  readonly route: number
  readonly policy: number
  /** Resident memory (RSS) of the process, in megabytes. */
  readonly memory: number
}
