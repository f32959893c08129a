// Summarises the measurements of several rounds: median and range.

import { median } from './median.js'

export interface Spread {
  readonly median: number
  readonly low: number
  readonly high: number
}

export const spreadOf = (values: readonly number[]): Spread => ({
  median: median(values),
  low: Math.min(...values),
  high: Math.max(...values),
})

/** The quotients per round, since other load on the machine affects both values of a round. */
export const ratioOf = (values: readonly number[], to: readonly number[]): Spread =>
  spreadOf(values.map((value, round) => value / (to[round] ?? NaN)))
