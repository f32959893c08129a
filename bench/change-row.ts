// What one-change.ts measures: a row for each number of routes and policies.

export interface ChangeRow {
  readonly count: number
  /** Milliseconds of CPU: everything anew, and the median of one changed route and of one changed policy. */
  readonly all: number
  readonly route: number
  readonly policy: number
  /** Megabytes that the process holds (RSS). */
  readonly memory: number
}
