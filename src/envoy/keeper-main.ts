// The program of the keeper: it outlives the Gatehouse that has started it by as long as it takes to end that one's
// processes and to remove its folders. No other way to end by SIGKILL leaves nothing behind.

import { rmSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Kept } from './keeper.js'

let kept = JSON.parse(process.argv[2] ?? '') as Kept

// What Gatehouse is asked to do by a signal is its own affair; the keeper follows it at the end.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)

// What was written to a pipe is read before its end, also where both came before this program was loaded.
createInterface({ input: process.stdin })
  .on('line', (line) => (kept = JSON.parse(line) as Kept))
  /** The system closes the pipe, however Gatehouse ended. */
  .on('close', () => {
    for (const group of kept.groups) kill(group)
    for (const folder of kept.folders)
      rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 })
    process.exit()
  })

function kill(group: number): void {
  try {
    process.kill(-group, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}
