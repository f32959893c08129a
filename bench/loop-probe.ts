// Loaded into a Gatehouse by node --import: measures how long the main thread blocks the event loop, from the first server
// on: while the program loads, nobody waits. Each SIGUSR2 prints the longest stretch since the previous one in
// milliseconds, and how much of it V8 spent on collections.

import { subscribe } from 'node:diagnostics_channel'
import { PerformanceObserver } from 'node:perf_hooks'
import { isMainThread } from 'node:worker_threads'

/** V8's collections are reported in a later turn of the loop than that in which they took place. */
const REPORTED_AFTER_MS = 10

interface Stretch {
  /** As of performance.now(). */
  readonly start: number
  readonly end: number
  readonly length: number
}

const NONE: Stretch = { start: 0, end: 0, length: 0 }

let collections: { readonly startTime: number; readonly duration: number }[] = []
let longest = NONE
let start = performance.now()
let before = process.threadCpuUsage()

/**
 * Measures the time since the last call. A timer runs once per turn of the event loop. CPU time does not count what a busy
 * machine gives to others, but Linux counts it in ticks of up to 4 ms, so that it may exceed the time that has passed.
 */
function look(): void {
  const end = performance.now()
  const { user, system } = process.threadCpuUsage(before)
  const length = Math.min((user + system) / 1_000, end - start)
  if (length > longest.length) longest = { start, end, length }
  before = process.threadCpuUsage()
  start = performance.now()
  setTimeout(look, 1).unref()
}

function collectedIn({ start, end }: Stretch): number {
  const parts = collections.map(
    ({ startTime, duration }) => Math.min(end, startTime + duration) - Math.max(start, startTime),
  )
  return parts.reduce((sum, part) => sum + Math.max(0, part), 0)
}

function print(): void {
  const collected = Math.min(longest.length, collectedIn(longest))
  process.stdout.write(`longest ${longest.length.toFixed(1)} ${collected.toFixed(1)}\n`)
  longest = NONE
  collections = []
}

if (isMainThread) {
  new PerformanceObserver((list) => collections.push(...list.getEntries())).observe({ type: 'gc' })
  let isListening = false
  subscribe('tracing:net.server.listen:asyncEnd', () => {
    if (isListening) return
    isListening = true
    start = performance.now()
    before = process.threadCpuUsage()
    look()
  })
  process.on('SIGUSR2', () => setTimeout(print, REPORTED_AFTER_MS))
}
