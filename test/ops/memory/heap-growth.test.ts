// How much the heap grows between full collections.

import { join } from 'node:path'
import { expect, test } from 'vitest'
import { printedBy } from './own-process.js'

const MODULE = join(import.meta.dirname, '../../../dist/ops/memory/heap-growth.js')

const COUNTING = `
  import { constants, PerformanceObserver } from 'node:perf_hooks'
  import { setImmediate } from 'node:timers/promises'
  import { setFlagsFromString } from 'node:v8'
  import { createHeapGrowth } from ${JSON.stringify(MODULE)}
  let full = 0
  new PerformanceObserver((list) => {
    for (const { detail } of list.getEntries())
      if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) full += 1
  }).observe({ entryTypes: ['gc'] })
  const grow = createHeapGrowth()
  const untilCollected = async (resources) => {
    grow(resources)
    for (const before = full; full === before; ) await setImmediate(new Array(1_000).fill({}))
  }
  globalThis.kept = []
  const keep = async (count) => {
    for (let index = 0; index < count; index += 1) {
      kept.push({ index, name: 'name of ' + index })
      if (index % 5_000 === 0) await setImmediate()
    }
  }`

/** Makes 150 MB that stay in use, after the start or before its end. Prints the full collections meanwhile, and all of them. */
const atStart = (isFirst: boolean): string => `${COUNTING}
  if (${String(isFirst)}) await untilCollected(10_000)
  const first = full
  await keep(1_500_000)
  const made = full - first
  if (${String(!isFirst)}) await untilCollected(10_000)
  console.log(JSON.stringify({ made, full }))`

/**
 * Makes objects that outlive collections of the young generation, and drops them, beside 25 MB that stay in use. V8 is as
 * careful with memory meanwhile as it is after a pause.
 */
const underLoad = (resources: number): string => `${COUNTING}
  setFlagsFromString('--optimize-for-size')
  await keep(250_000)
  await untilCollected(${String(resources)})
  const first = full
  for (let turn = 0; turn < 1_000; turn += 1) {
    await keep(1_000)
    kept.splice(200_000, 1_000)
  }
  console.log(JSON.stringify({ made: full - first, full }))`

interface FullCollections {
  /** In the part that is looked at. */
  readonly made: number
  readonly full: number
}

const run = async (program: string): Promise<FullCollections> =>
  JSON.parse(await printedBy(program)) as FullCollections

test('at the start it grows with fewer collections, and what it then may hold is set by one', async () => {
  const [later, start] = await Promise.all([run(atStart(true)), run(atStart(false))])
  expect(start.made).toBeLessThan(later.made)
  expect(start.full).toBeGreaterThan(start.made)
})

test('with few resources a load after a pause makes no full collection for each few megabytes', async () => {
  const { made } = await run(underLoad(10))
  expect(made).toBeLessThan(5)
})
