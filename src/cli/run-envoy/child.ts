// Starts Envoy from a bootstrap, logs its lines and reports how it ended.

import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { errorText } from '../../kit/errors.js'
import type { Logger } from '../../kit/logger.js'
import type { JsonObject } from '../../model/json.js'
import { EnvoyLog, LOG_FORMAT } from './log-lines.js'
import { killGroup } from './process-group.js'

/** What an Envoy is started with. */
export interface EnvoyChildOptions {
  /** Result of findEnvoy(). */
  readonly envoyPath: string
  /** envoy.config.bootstrap.v3.Bootstrap */
  readonly bootstrap: JsonObject
  readonly logger: Logger
  /** Parent of the folder for the bootstrap; absent: the system's folder for temporary files. */
  readonly folder?: string
  /** Worker threads; absent: one per core. */
  readonly concurrency?: number
  /** Log level of Envoy; never debug, at which http and ext_proc log tokens. */
  readonly logLevel?: 'info' | 'warning' | 'error'
  /** Called with the process, which leads its own process group: it must not outlive Gatehouse. */
  readonly keep?: (child: ChildProcess) => void
}

/** How an Envoy ended. */
export interface EnvoyExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** Last error line of Envoy; "" if there was none. */
  readonly reason: string
}

/** A running Envoy. */
export interface EnvoyChild {
  readonly pid: number
  /** Resolves when Envoy has ended, for whatever reason; never rejects. */
  readonly exited: Promise<EnvoyExit>
  /** Sends SIGTERM, then SIGKILL after graceMs; resolves when Envoy has ended. */
  stop(graceMs?: number): Promise<EnvoyExit>
  /** Sends SIGTERM without waiting and removes the folder, for the end of this process. */
  kill(): void
}

const STOP_GRACE_MS = 5_000

type Process = ChildProcessByStdio<null, null, Readable>

/**
 * Starts Envoy; its bootstrap is kept in a new folder while it runs. Rejects when that cannot be written, with a message for
 * a person, or the binary cannot be started.
 */
export async function startEnvoy(options: EnvoyChildOptions): Promise<EnvoyChild> {
  const folder = await written(mkdtemp(join(options.folder ?? tmpdir(), 'gatehouse-envoy-')))
  const removeFolder = (): Promise<void> => rm(folder, { recursive: true, force: true })
  try {
    const file = join(folder, 'bootstrap.json')
    await written(writeFile(file, JSON.stringify(options.bootstrap), { mode: 0o600 }))
    const child = spawn(options.envoyPath, envoyArguments(file, options), {
      stdio: ['ignore', 'inherit', 'pipe'],
      // In its own process group: Ctrl-C on the terminal reaches only Gatehouse, which lets open requests finish.
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

const written = <T>(work: Promise<T>): Promise<T> =>
  work.catch((error: unknown) => {
    throw new Error(
      `what Envoy is started with cannot be written in ${tmpdir()}: set TMPDIR to a folder with room for it (${errorText(error)})`,
      { cause: error },
    )
  })

const envoyArguments = (file: string, options: EnvoyChildOptions): readonly string[] => [
  '--config-path',
  file,
  // Otherwise several Envoys on one machine would use the same shared memory.
  '--disable-hot-restart',
  '--log-level',
  options.logLevel ?? 'warning',
  '--log-format',
  LOG_FORMAT,
  ...(options.concurrency === undefined ? [] : ['--concurrency', String(options.concurrency)]),
]

/** Logs every line. Resolves once the process has ended and its last line has been read. */
function watch(child: Process, logger: Logger, clean: () => Promise<void>): Promise<EnvoyExit> {
  const log = new EnvoyLog(logger)
  child.stderr.on('data', (bytes: Buffer) => log.push(bytes))
  return new Promise((resolve) => {
    child.once('close', (code, signal) => {
      log.end()
      const reason = log.lastError
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
