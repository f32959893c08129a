// Rows of tests that are computed, and that may come out empty.

/**
 * Returns the rows of test.each(), or of a loop.
 * @throws {Error} there are none: nothing would run, and nobody would notice.
 */
export function someRows<T>(rows: readonly T[], what = 'rows'): readonly T[] {
  if (rows.length === 0) throw new Error(`no ${what} are left to test`)
  return rows
}
