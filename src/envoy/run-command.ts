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
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
    })
    const stdout: Buffer[] = []
    const stderr: Buffer[] = []
    child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk))
    child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk))
    child.once('error', reject)
    child.once('close', (code) => {
      resolve({ code, stdout: text(stdout), stderr: text(stderr) })
    })
  })

const text = (chunks: readonly Buffer[]): string => Buffer.concat(chunks).toString('utf8')
