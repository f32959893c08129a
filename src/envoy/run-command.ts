// A short-lived program → its exit code and what it printed.

import { type ChildProcess, spawn } from 'node:child_process'
import { killGroup } from './process-group.js'

export interface CommandResult {
  /** null: it was ended by a signal, or took too long. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** What programs that we wait for are tied to. */
export interface CommandTies {
  /** Ends the program, and rejects with its reason. */
  readonly signal?: AbortSignal
  /** Told of the process, which leads a group of its own: it must not outlive us. */
  readonly keep?: (child: ChildProcess) => void
}

/** Rejects with the ErrnoException of spawn when the program cannot be started (ENOENT: it is not there). */
export const runCommand = (
  program: string,
  args: readonly string[],
  timeoutMs: number,
  { signal, keep }: CommandTies = {},
): Promise<CommandResult> =>
  new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    keep?.(child)
    const stdout: Buffer[] = []
    const stderr: Buffer[] = []
    child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk))
    child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk))
    const abort = (): void => {
      killGroup(child, 'SIGKILL')
      reject(signal?.reason as Error)
    }
    // Not spawn's own timeout: its timer would stay, and keep us alive, when the program is not there.
    const timer = setTimeout(() => killGroup(child, 'SIGKILL'), timeoutMs).unref()
    signal?.addEventListener('abort', abort, { once: true })
    child.once('error', reject)
    child.once('close', (code) => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
      resolve({ code, stdout: text(stdout), stderr: text(stderr) })
    })
  })

const text = (chunks: readonly Buffer[]): string => Buffer.concat(chunks).toString('utf8')
