// A short-lived program → its exit code and what it printed.

import { spawn } from 'node:child_process'

export interface CommandResult {
  /** null: it was ended by a signal, or took too long. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Rejects with the ErrnoException of spawn when the program cannot be started (ENOENT: it is not there). */
export const runCommand = (
  program: string,
  args: readonly string[],
  timeoutMs: number,
): Promise<CommandResult> =>
  new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const stdout: Buffer[] = []
    const stderr: Buffer[] = []
    child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk))
    child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk))
    // Not spawn's own timeout: its timer would stay, and keep us alive, when the program is not there.
    const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs).unref()
    child.once('error', reject)
    child.once('close', (code) => {
      clearTimeout(timer)
      resolve({ code, stdout: text(stdout), stderr: text(stderr) })
    })
  })

const text = (chunks: readonly Buffer[]): string => Buffer.concat(chunks).toString('utf8')
