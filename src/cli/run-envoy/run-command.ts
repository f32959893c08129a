// Runs a short-lived program and returns its exit code and output.

import { type ChildProcess, spawn } from 'node:child_process'
import { killGroup } from './process-group.js'

/** Exit code and output of a program. */
export interface CommandResult {
  /** null: the program was ended by a signal or timed out. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Options that bind a program to the lifetime of its caller. */
export interface CommandTies {
  /** Ends the program when it aborts; the promise then rejects with its reason. */
  readonly signal?: AbortSignal
  /** Called with the process, which leads its own process group: it must not outlive Gatehouse. */
  readonly keep?: (child: ChildProcess) => void
}

/** Rejects with the ErrnoException of spawn when the program cannot be started (ENOENT: it does not exist). */
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
    // The timer of spawn's own timeout would remain, and keep this process alive, if the program does not exist.
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
