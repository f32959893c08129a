// A child that leads a process group of its own → a signal to it and to all that it has started.

import type { ChildProcess } from 'node:child_process'
import { kill } from 'node:process'

/** A wrapper script around Envoy would otherwise end alone. child: spawned with `detached`. */
export function killGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    kill(-pid, signal)
  } catch {
    // ESRCH: all of them have ended.
  }
}
