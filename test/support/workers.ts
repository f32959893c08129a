// Finds the worker processes of a running Gatehouse.

import type { ChildProcess } from 'node:child_process'
import { execFileSync } from 'node:child_process'

/** Returns the process ids of the workers, oldest first. */
export function workersOf({ child }: { readonly child: ChildProcess }): readonly number[] {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' })
  return lines
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, parent, ...args]) => Number(parent) === child.pid && isWorker(args.join(' ')))
    .map(([pid]) => Number(pid))
    .sort((a, b) => a - b)
}

const isWorker = (command: string): boolean => command.includes('worker-main.js')
