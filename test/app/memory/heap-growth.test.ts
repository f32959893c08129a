// How much the heap grows between full collections, in a process of its own, as V8's flags are those of a process.

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const MODULE = join(import.meta.dirname, '../../../dist/app/memory/heap-growth.js')

/** Makes 150 MB that stay in use, after the start or before its end. Prints the full collections meanwhile, and all of them. */
const program = (isFirst: boolean): string => `
  import { constants, PerformanceObserver } from 'node:perf_hooks'
  import { setImmediate } from 'node:timers/promises'
  import { createHeapGrowth } from ${JSON.stringify(MODULE)}
  let full = 0
  new PerformanceObserver((list) => {
    for (const { detail } of list.getEntries())
      if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) full += 1
  }).observe({ entryTypes: ['gc'] })
  const grow = createHeapGrowth()
  const untilCollected = async () => {
    grow(10_000)
    for (const before = full; full === before; ) await setImmediate(new Array(1_000).fill({}))
  }
  if (${String(isFirst)}) await untilCollected()
  const first = full
  globalThis.kept = []
  for (let index = 0; index < 1_500_000; index += 1) {
    kept.push({ index, name: 'name of ' + index })
    if (index % 10_000 === 0) await setImmediate()
  }
  const made = full - first
  if (${String(!isFirst)}) await untilCollected()
  console.log(JSON.stringify({ made, full }))`

async function run(isFirst: boolean): Promise<{ readonly made: number; readonly full: number }> {
  const args = ['--max-semi-space-size=16', '--input-type=module', '-e', program(isFirst)]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return JSON.parse(stdout) as { readonly made: number; readonly full: number }
}

test('at the start it grows with fewer collections, and what it then may hold is set by one', async () => {
  const [later, start] = await Promise.all([run(true), run(false)])
  expect(start.made).toBeLessThan(later.made)
  expect(start.full).toBeGreaterThan(start.made)
})
