// Loaded into a Gatehouse (node --import): how long its main thread is at work without a turn for anybody else. Each SIGUSR2
// prints the longest stretch since the last one, in milliseconds of CPU, so that a busy machine does not count.

import { isMainThread } from 'node:worker_threads'

let before = process.threadCpuUsage()
let longest = 0

/** Timers come once in a turn of the loop. */
function look(): void {
  const { user, system } = process.threadCpuUsage(before)
  longest = Math.max(longest, (user + system) / 1_000)
  before = process.threadCpuUsage()
  setTimeout(look, 1).unref()
}

if (isMainThread) {
  look()
  process.on('SIGUSR2', () => {
    process.stdout.write(`longest ${longest.toFixed(1)}\n`)
    longest = 0
  })
}
