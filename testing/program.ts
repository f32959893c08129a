// How tests and benchmarks start the built program.

import { resolve } from 'node:path'

/** The built program. */
export const MAIN = resolve(import.meta.dirname, '../dist/main.js')

/** Arguments for Node to which those of Gatehouse are appended, with the flag that the image has (decision 34). */
export const PROGRAM: readonly string[] = ['--max-semi-space-size=16', MAIN]
