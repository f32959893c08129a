// Runs a third-party program as a child process, and gives access to its output and exit code.

import { spawn } from 'node:child_process'
import { once } from 'node:events'

export interface ChildProgram {
  /** Everything it has written to stdout and stderr. */
  output(): string
  /** Resolves to the first match in the output. Rejects, with the output, if the program ends before. */
  seen(pattern: RegExp): Promise<RegExpExecArray>
  /** Resolves to the exit code. */
  ended(): Promise<number | null>
  /** Kills the program and its descendants. */
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
