// A bootstrap → a running Envoy that is watched: its log lines, when it is live, how it ends.

import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import type { JsonObject } from '../ir/json.js'
import type { Logger } from '../logger.js'
import { LOG_FORMAT, logEnvoyLine, parseLogLine } from './log-lines.js'
import { killGroup } from './process-group.js'

export interface EnvoyChildOptions {
  /** From findEnvoy. */
  readonly envoyPath: string
  /** envoy.config.bootstrap.v3.Bootstrap */
  readonly bootstrap: JsonObject
  readonly logger: Logger
  /** A private one, in which the bootstrap gets a folder of its own; absent: the system's for temporary files. */
  readonly folder?: string
  /** Worker threads; absent: one per core. */
  readonly concurrency?: number
  /** Envoy's own log level; never debug for http and ext_proc, which would write tokens. */
  readonly logLevel?: 'info' | 'warning' | 'error'
  /** Told of the process, which leads a group of its own: it must not outlive us. */
  readonly keep?: (child: ChildProcess) => void
}

export interface EnvoyExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** Envoy's last error line; "" when it said nothing. */
  readonly reason: string
}

export interface EnvoyChild {
  readonly pid: number
  /** When it has ended, for whatever reason; never rejects. */
  readonly exited: Promise<EnvoyExit>
  /** SIGTERM, after graceMs SIGKILL; resolves when it has ended. */
  stop(graceMs?: number): Promise<EnvoyExit>
  /** For the end of our own process: SIGTERM without waiting, and no folder is left. */
  kill(): void
}

const STOP_GRACE_MS = 5_000

type Process = ChildProcessByStdio<null, null, Readable>

/** Rejects when the binary cannot be started. The bootstrap is kept in a folder of its own while Envoy runs. */
export async function startEnvoy(options: EnvoyChildOptions): Promise<EnvoyChild> {
  const folder = await mkdtemp(join(options.folder ?? tmpdir(), 'gatehouse-envoy-'))
  const removeFolder = (): Promise<void> => rm(folder, { recursive: true, force: true })
  try {
    const file = join(folder, 'bootstrap.json')
    await writeFile(file, JSON.stringify(options.bootstrap), { mode: 0o600 })
    const child = spawn(options.envoyPath, envoyArguments(file, options), {
      stdio: ['ignore', 'inherit', 'pipe'],
      // A process group of its own: Ctrl-C on the terminal is for us, who let requests under way finish first.
      detached: true,
    })
    options.keep?.(child)
    const exited = watch(child, options.logger, removeFolder)
    await once(child, 'spawn')
    return handle(child, exited, folder)
  } catch (error) {
    await removeFolder()
    throw error
  }
}

const envoyArguments = (file: string, options: EnvoyChildOptions): readonly string[] => [
  '--config-path',
  file,
  // Several Envoys on one machine would otherwise fight over the same shared memory.
  '--disable-hot-restart',
  '--log-level',
  options.logLevel ?? 'warning',
  '--log-format',
  LOG_FORMAT,
  ...(options.concurrency === undefined ? [] : ['--concurrency', String(options.concurrency)]),
]

/** Logs every line, and resolves once the process has ended and its last line is read. */
function watch(child: Process, logger: Logger, clean: () => Promise<void>): Promise<EnvoyExit> {
  let reason = ''
  createInterface({ input: child.stderr }).on('line', (line) => {
    logEnvoyLine(line, logger)
    if (parseLogLine(line).level === 'error') reason = parseLogLine(line).text
  })
  return new Promise((resolve) => {
    child.once('close', (code, signal) => {
      void clean().finally(() => {
        resolve({ code, signal, reason })
      })
    })
  })
}

function handle(child: Process, exited: Promise<EnvoyExit>, folder: string): EnvoyChild {
  return {
    pid: child.pid ?? 0,
    exited,
    async stop(graceMs = STOP_GRACE_MS) {
      killGroup(child, 'SIGTERM')
      const kill = setTimeout(() => killGroup(child, 'SIGKILL'), graceMs)
      const exit = await exited
      clearTimeout(kill)
      return exit
    },
    kill() {
      killGroup(child, 'SIGTERM')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
