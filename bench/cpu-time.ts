// Reads the CPU time of a process from /proc (Linux only).

import { readdirSync, readFileSync } from 'node:fs'

/** Linux reports CPU time in hundredths of a second, whatever the kernel's own tick is. */
const TICK_MICROSECONDS = 10_000

/** CPU time in user and kernel mode together, in microseconds. */
export function cpuTime(pid: number): number {
  const fields = readFileSync(`/proc/${String(pid)}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) * TICK_MICROSECONDS
}

/** CPU time of the threads that the process has now, in microseconds and more exactly: for work that takes less than a tick. */
export function threadsCpuTime(pid: number): number {
  const folder = `/proc/${String(pid)}/task`
  const times = readdirSync(folder).map((thread) =>
    Number(readFileSync(`${folder}/${thread}/schedstat`, 'utf8').split(' ')[0]),
  )
  return times.reduce((sum, time) => sum + time, 0) / 1_000
}
