// How tests and benchmarks start the built program.

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'

/** The built program. */
export const MAIN = resolve(import.meta.dirname, '../dist/main.js')

/** Arguments for Node to which those of Gatehouse are appended, with the flags of its first line (decision 34). */
export const PROGRAM: readonly string[] = programAt(MAIN)

/** Returns the same for another build. @param main the path of its main.js. */
export function programAt(main: string): readonly string[] {
  const [line = ''] = readFileSync(main, 'utf8').split('\n', 1)
  const [, flags] = /^#!.* node (.+)$/.exec(line) ?? []
  return [...(flags?.split(' ') ?? []), main]
}
