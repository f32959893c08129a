// The number of runs of a property. Tests state the full number; a change runs a fifth of it, each time with other values.
// GATEHOUSE_TEST_RUNS multiplies the full number: `npm run test:nightly` sets it to 2. What a property failed for is tried
// first (corpus.ts).

import { countKept, useCorpus } from './corpus.js'

useCorpus()

const FACTOR = Number(process.env['GATEHOUSE_TEST_RUNS'] ?? 0.2)

const share = (count: number): number => Math.ceil(count * FACTOR)

/** Returns how often a property whose full number is `count` runs. The values of the corpus are beside the random ones. */
export const runs = (count: number): number => share(count) + countKept()

/** Returns seeds for a property whose full number is `count`: consecutive numbers from a random, even one. */
export function seeds(count: number): readonly number[] {
  const first = 2 * Math.floor(Math.random() * 2 ** 30)
  return Array.from({ length: share(count) }, (_, index) => first + index)
}
