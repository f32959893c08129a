// A collection in steps frees what a load has left and keeps compiled code, by V8's trace.

import { join } from 'node:path'
import { expect, test } from 'vitest'
import { printedBy } from './own-process.js'

const MODULE = join(import.meta.dirname, '../../../dist/ops/memory/stepwise-collection.js')

/** Makes code hot whose objects are all garbage then, beside some 40 MB of other garbage. Prints the megabytes before and after. */
const PROGRAM = `
  import { memoryUsage } from 'node:process'
  import { setImmediate } from 'node:timers/promises'
  import { collectWhenIdle } from ${JSON.stringify(MODULE)}
  class Reader {
    constructor(bytes) {
      this.bytes = bytes
      this.offset = 0
    }
    next() {
      return this.bytes[this.offset++]
    }
  }
  function sum(bytes) {
    const reader = new Reader(bytes)
    globalThis.last = reader
    let total = 0
    for (let i = 0; i < bytes.length; i++) total += reader.next()
    return total
  }
  for (let i = 0; i < 3_000; i++) {
    sum(Buffer.alloc(64, i))
    if (i % 100 === 0) await setImmediate()
  }
  const used = () => {
    const { heapUsed, external } = memoryUsage()
    return Math.round((heapUsed + external) / 1024 ** 2)
  }
  globalThis.last = undefined
  globalThis.left = Array.from({ length: 400_000 }, (_, index) => ({ index, text: 'text ' + index }))
  globalThis.buffers = Array.from({ length: 16 }, () => Buffer.alloc(1024 ** 2))
  const before = used()
  globalThis.left = globalThis.buffers = undefined
  console.log('collecting')
  const waiting = setInterval(() => {}, 1_000)
  await collectWhenIdle()
  clearInterval(waiting)
  console.log(JSON.stringify({ before, after: used() }))`

test('what a load has left is freed, and compiled code is kept', async () => {
  const lines = (await printedBy(PROGRAM, '--trace-deopt')).split('\n')
  const during = lines.slice(lines.indexOf('collecting'))
  const { before, after } = JSON.parse(lines.at(-2) ?? '') as { before: number; after: number }
  expect(before - after).toBeGreaterThan(15)
  // A forced collection drops all three, with Node 24.
  expect(during.join('\n')).not.toMatch(/SharedFunctionInfo (?:sum|next|Reader)>.*cleared/)
})
