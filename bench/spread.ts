// Measurements of several rounds → their middle, and how far they lay apart.

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

/** The quotient of each round: what else the machine did in it hit both. */
export const ratioOf = (values: readonly number[], to: readonly number[]): Spread =>
  spreadOf(values.map((value, round) => value / (to[round] ?? NaN)))
