/** Types of flakes.mjs. */

export interface Flake {
  readonly file: string
  readonly name: string
  readonly isSameCode: boolean
  readonly failed: number
  readonly runs: number
  readonly last: number
  readonly why: string
}

export declare function flakesIn(read: () => Iterable<unknown>): readonly Flake[]
