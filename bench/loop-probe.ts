// Loaded into a Gatehouse by node --import: measures how long the main thread blocks the event loop, from the first server
// on: while the program loads, nobody waits. Each SIGUSR2 prints the longest stretch since the previous one, in CPU
// milliseconds, which a busy machine does not distort.

import { subscribe } from 'node:diagnostics_channel'
import { isMainThread } from 'node:worker_threads'

let before = process.threadCpuUsage()
let longest = 0

/** Measures the CPU time since the last call. A timer runs once per turn of the event loop. */
function look(): void {
  const { user, system } = process.threadCpuUsage(before)
  longest = Math.max(longest, (user + system) / 1_000)
  before = process.threadCpuUsage()
  setTimeout(look, 1).unref()
}

if (isMainThread) {
  let isListening = false
  subscribe('tracing:net.server.listen:asyncEnd', () => {
    if (isListening) return
    isListening = true
    before = process.threadCpuUsage()
    look()
  })
  process.on('SIGUSR2', () => {
    process.stdout.write(`longest ${longest.toFixed(1)}\n`)
    longest = 0
  })
}
