// The number of runs of a property. Tests state the full number; a change runs a fifth of it, each time with other values.
// GATEHOUSE_TEST_RUNS multiplies the full number: `npm run test:nightly` sets it to 2.

const FACTOR = Number(process.env['GATEHOUSE_TEST_RUNS'] ?? 0.2)

/** Returns how often a property whose full number is `count` runs. */
export const runs = (count: number): number => Math.ceil(count * FACTOR)

/** Returns seeds for a property whose full number is `count`: consecutive numbers from a random, even one. */
export function seeds(count: number): readonly number[] {
  const first = 2 * Math.floor(Math.random() * 2 ** 30)
  return Array.from({ length: runs(count) }, (_, index) => first + index)
}
