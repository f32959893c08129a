// Sends a signal to a child that leads a process group and to everything that it has started.

import type { ChildProcess } from 'node:child_process'
import { kill } from 'node:process'

/** Signals the whole group: of a wrapper script around Envoy, only the script would end. child: spawned `detached`. */
export function killGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    kill(-pid, signal)
  } catch {
    // ESRCH: all processes have ended.
  }
}
