// How tests and benchmarks start the built program.

import { resolve } from 'node:path'

/** Flags with which the image starts Node (decision 34). */
export const NODE_FLAGS: readonly string[] = ['--max-semi-space-size=16']

/** The built program. */
export const MAIN = resolve(import.meta.dirname, '../dist/main.js')

/** Arguments for Node to which those of Gatehouse are appended. */
export const PROGRAM: readonly string[] = [...NODE_FLAGS, MAIN]
