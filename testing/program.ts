// How tests and benchmarks start the built program.

import { resolve } from 'node:path'

/** The built program. */
export const MAIN = resolve(import.meta.dirname, '../dist/main.js')

/** Arguments for Node to which those of Gatehouse are appended, with the flag that the image has (decision 34). */
export const PROGRAM: readonly string[] = programAt(MAIN)

/** Returns the same for another build. @param main the path of its main.js. */
export function programAt(main: string): readonly string[] {
  return ['--max-semi-space-size=16', main]
}
