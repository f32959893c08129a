// Processes that end with the process that started them.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

/** A shell script that runs its arguments until its stdin ends, or until it is told to end. */
const TIED = `
exec 3<&0
"$@" 3<&- & program=$!
trap 'kill -9 $program' TERM
cat <&3 & watcher=$!
wait $watcher
kill -9 $program $watcher
wait`

/**
 * Starts a program that ends with this process at the latest, even if the tests' own hooks do not run.
 * @param variable the environment variable that holds the program's path.
 */
export function spawnTied(variable: string, flags: readonly string[]): ChildProcess {
  const program = process.env[variable] ?? ''
  if (program === '') throw new Error(`${variable} cannot be empty`)
  return spawn('sh', ['-c', TIED, 'sh', program, ...flags], { stdio: ['pipe', 'ignore', 'ignore'] })
}

/** Kills the program (SIGKILL) and waits for its end. */
export async function endTied(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
  const end = once(child, 'close')
  child.stdin?.end()
  await end
}

/** Lets this process end without waiting for the program, which then ends too. Returns the id to end it by (SIGTERM). */
export function unrefTied(child: ChildProcess): readonly number[] {
  child.unref()
  ;(child.stdin as { unref?: () => void } | null)?.unref?.()
  return child.pid === undefined ? [] : [child.pid]
}
