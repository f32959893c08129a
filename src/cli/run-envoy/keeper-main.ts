// Program of the keeper: outlives the Gatehouse that started it just long enough to end its processes and remove its
// folders. Only a separate process can clean up after a SIGKILL.

import { rmSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Kept } from './keeper.js'

let kept = JSON.parse(process.argv[2] ?? '') as Kept

// Signals are ignored: the keeper ends after Gatehouse, which handles them itself.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)

// Data in a pipe is read before its end, even if both arrived before this program was loaded.
createInterface({ input: process.stdin })
  .on('line', (line) => (kept = readKept(line) ?? kept))
  /** The system closes the pipe however Gatehouse ends. */
  .on('close', end)
// A reset is an end too.
process.stdin.on('error', end)

/** undefined: Gatehouse was killed while it wrote the line. */
function readKept(line: string): Kept | undefined {
  try {
    const read = JSON.parse(line) as Partial<Kept> | null
    const { groups, folders } = read ?? {}
    return groups && folders && { groups, folders }
  } catch {
    return undefined
  }
}

function end(): void {
  for (const group of kept.groups) kill(group)
  for (const folder of kept.folders)
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 })
  process.exit()
}

function kill(group: number): void {
  try {
    process.kill(-group, 'SIGKILL')
  } catch {
    // The group has ended by itself.
  }
}
