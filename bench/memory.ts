// Reads the memory of a process from /proc (Linux only).

import { readFileSync } from 'node:fs'

/** Resident memory (RSS), in megabytes. */
export function residentMemory(pid: number): number {
  const [, kilobytes = 'NaN'] =
    /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${String(pid)}/status`, 'utf8')) ?? []
  return Number(kilobytes) / 1024
}
