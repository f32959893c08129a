// The memory that a process holds, from /proc: Linux only.

import { readFileSync } from 'node:fs'

/** Megabytes (RSS). */
export function residentMemory(pid: number): number {
  const [, kilobytes = 'NaN'] =
    /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${String(pid)}/status`, 'utf8')) ?? []
  return Number(kilobytes) / 1024
}
