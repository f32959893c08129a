// The default of --held-bytes follows the limit of the heap, and that of the system.

import type * as Process from 'node:process'
import { getHeapStatistics } from 'node:v8'
import { afterEach, expect, test, vi } from 'vitest'
import { defaultHeldBytes } from '../../../src/ops/memory/held-bytes-default.js'

const system = vi.hoisted(() => ({ limit: 0 }))
vi.mock('node:process', async (original) => ({
  ...(await original<typeof Process>()),
  constrainedMemory: () => system.limit,
}))
afterEach(() => {
  system.limit = 0
})

const heap = getHeapStatistics().heap_size_limit

test.each([
  ['no limit of the system', 0, heap],
  ['a limit that is larger than the memory', 2 ** 63, heap],
  ['a limit below that of the heap', 64 * 1024 * 1024, 64 * 1024 * 1024],
])('%s: a quarter of the smaller', (_, limit, smaller) => {
  system.limit = limit
  expect(defaultHeldBytes()).toBe(Math.floor(smaller / 4))
})
