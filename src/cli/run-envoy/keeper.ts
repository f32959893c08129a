// Ends child processes and removes folders when Gatehouse ends, however suddenly, through a small process that holds a
// pipe to it (keeper-main.ts).

import { type ChildProcess, spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import { execPath } from 'node:process'
import { fileURLToPath } from 'node:url'
import type { Logger } from '../../kit/logger.js'
import { ownFile } from '../../kit/own-files.js'

/** State sent to the keeper, in full at every change. */
export interface Kept {
  /** Process ids of the leaders of process groups. */
  readonly groups: readonly number[]
  readonly folders: readonly string[]
}

/** Ends child processes and removes folders when Gatehouse has ended. */
export interface Keeper {
  /** Keeps the child until it has ended by itself. child: spawned with `detached`, thus leader of a process group. */
  keep(child: ChildProcess): void
  keepFolder(path: string): void
}

const PROGRAM = fileURLToPath(ownFile('dist/cli/run-envoy/keeper-main.js'))
/** Node flags that save memory: the keeper is idle for almost all of its life. */
const FLAGS = ['--max-old-space-size=16', '--max-semi-space-size=1', '--single-threaded']
const RESTART_MS = 1_000

/** Starts the keeper, which ends with this process. */
export const startKeeper = (logger: Logger): Keeper => new KeeperProcess(logger)

class KeeperProcess implements Keeper {
  readonly #logger: Logger
  readonly #groups = new Set<number>()
  readonly #folders = new Set<string>()
  #keeper: ChildProcess | undefined

  constructor(logger: Logger) {
    this.#logger = logger
    this.#start()
  }

  #start(): void {
    // The state is also an argument: Gatehouse may be killed before it can send anything.
    const keeper = spawn(execPath, [...FLAGS, PROGRAM, this.#kept()], {
      env: {},
      // In its own session: signals for Gatehouse's process group or terminal must not end the keeper.
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    this.#keeper = keeper
    keeper.unref()
    ;(keeper.stdin as Socket).unref()
    // Its exit is handled below.
    keeper.stdin.on('error', () => undefined)
    keeper.once('error', () => this.#restart(keeper))
    keeper.once('exit', () => this.#restart(keeper))
  }

  #restart(keeper: ChildProcess): void {
    if (this.#keeper !== keeper) return
    this.#keeper = undefined
    this.#logger.warn(
      {},
      'the process that stops Envoy when Gatehouse dies has exited; restarting it',
    )
    setTimeout(() => this.#start(), RESTART_MS).unref()
  }

  #kept(): string {
    const kept: Kept = { groups: [...this.#groups], folders: [...this.#folders] }
    return JSON.stringify(kept)
  }

  #tell(): void {
    this.#keeper?.stdin?.write(`${this.#kept()}\n`)
  }

  keep(child: ChildProcess): void {
    const { pid } = child
    if (pid === undefined) return
    this.#groups.add(pid)
    this.#tell()
    child.once('exit', () => {
      this.#groups.delete(pid)
      this.#tell()
    })
  }

  keepFolder(path: string): void {
    this.#folders.add(path)
    this.#tell()
  }
}
