// The CPU time that a process has used, from /proc: Linux only.

import { readFileSync } from 'node:fs'

/** Linux counts in hundredths of a second, whatever the kernel's own tick is. */
const TICK_MICROSECONDS = 10_000

/** Microseconds, in user and kernel mode together. */
export function cpuTime(pid: number): number {
  const fields = readFileSync(`/proc/${String(pid)}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) * TICK_MICROSECONDS
}
