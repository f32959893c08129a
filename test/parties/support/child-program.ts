// A program of another party as a child process: its output as it comes, and how it ended.

import { spawn } from 'node:child_process'
import { once } from 'node:events'

export interface ChildProgram {
  /** Everything it has written to stdout and stderr. */
  output(): string
  /** Resolves with the first match in the output; rejects, with the output, when it ends before. */
  seen(pattern: RegExp): Promise<RegExpExecArray>
  /** The exit code. */
  ended(): Promise<number | null>
  /** Kills it and what it started. */
  stop(): Promise<void>
}

export interface ChildOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
}

export function startProgram(
  command: string,
  args: readonly string[],
  { cwd, env = {} }: ChildOptions = {},
): ChildProgram {
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    env: { ...process.env, ...env },
    ...(cwd !== undefined && { cwd }),
  })
  const closed = once(child, 'close')
  let output = ''
  const collect = (text: string): void => void (output += text)
  child.stdout.setEncoding('utf8').on('data', collect)
  child.stderr.setEncoding('utf8').on('data', collect)
  const seen = (pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const match = pattern.exec(output)
        if (match !== null) resolve(match)
      }
      look()
      child.stdout.on('data', look)
      child.stderr.on('data', look)
      void closed.then(() => reject(new Error(`it ended without ${String(pattern)}:\n${output}`)))
    })
  return {
    output: () => output,
    seen,
    ended: async () => {
      await closed
      return child.exitCode
    },
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
      process.kill(-child.pid, 'SIGKILL')
      await closed
    },
  }
}
