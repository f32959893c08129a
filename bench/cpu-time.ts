// Reads the CPU time of a process from /proc (Linux only).

import { readFileSync } from 'node:fs'

/** Linux reports CPU time in hundredths of a second, whatever the kernel's own tick is. */
const TICK_MICROSECONDS = 10_000

/** CPU time in user and kernel mode together, in microseconds. */
export function cpuTime(pid: number): number {
  const fields = readFileSync(`/proc/${String(pid)}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) * TICK_MICROSECONDS
}
