// Objects that are dropped at once do not fill the old generation, also where such objects lived long before.

import { join } from 'node:path'
import { expect, test } from 'vitest'
import { printedBy } from './own-process.js'

const MODULE = join(import.meta.dirname, '../../../dist/ops/memory/young-allocation.js')

/** Prints how much the old generation grows while objects are made and dropped, in megabytes. */
const PROGRAM = `
  import { getHeapSpaceStatistics } from 'node:v8'
  import { setImmediate } from 'node:timers/promises'
  import { allocateYoung } from ${JSON.stringify(MODULE)}
  allocateYoung()
  const make = () => {
    const list = []
    for (let i = 0; i < 5_000; i++) list.push([i, i + 1, i + 2, i + 3])
    return list
  }
  const kept = []
  for (let turn = 0; turn < 200; turn++) {
    kept.push(make())
    if (kept.length > 50) kept.shift()
    await setImmediate()
  }
  kept.length = 0
  const old = () =>
    getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space').space_used_size
  let [least, most] = [Infinity, 0]
  for (let turn = 0; turn < 1_000; turn++) {
    make()
    least = Math.min(least, old())
    most = Math.max(most, old())
    await setImmediate()
  }
  console.log((most - least) / 1024 ** 2)`

test('what is dropped at once never fills the old generation, though its like lived long before', async () => {
  expect(Number(await printedBy(PROGRAM))).toBeLessThan(60)
})
