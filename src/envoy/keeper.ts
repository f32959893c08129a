// Child processes and folders of ours → ended and removed when we end, however suddenly: by a small process that holds
// a pipe to us (keeper-main.ts).

import { type ChildProcess, spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import { execPath } from 'node:process'
import { fileURLToPath } from 'node:url'
import type { Logger } from '../logger.js'

/** What the keeper is told, whole, at every change. */
export interface Kept {
  /** Process ids of the leaders of process groups. */
  readonly groups: readonly number[]
  readonly folders: readonly string[]
}

export interface Keeper {
  /** Until it has ended by itself. child: spawned with `detached`, so that it leads a process group. */
  keep(child: ChildProcess): void
  keepFolder(path: string): void
}

const PROGRAM = fileURLToPath(new URL('./keeper-main.js', import.meta.url))
/** It does nothing, and is to take as little memory for that as it can. */
const FLAGS = ['--max-old-space-size=16', '--max-semi-space-size=1', '--single-threaded']
const RESTART_MS = 1_000

/** It ends with us. */
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
    // As an argument: we may be killed before we could tell it anything.
    const keeper = spawn(execPath, [...FLAGS, PROGRAM, this.#kept()], {
      env: {},
      // A session of its own: what ends our group, or our terminal, is not to end it.
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    this.#keeper = keeper
    keeper.unref()
    ;(keeper.stdin as Socket).unref()
    // That it is gone is seen by its exit.
    keeper.stdin.on('error', () => undefined)
    keeper.once('error', () => this.#restart(keeper))
    keeper.once('exit', () => this.#restart(keeper))
  }

  #restart(keeper: ChildProcess): void {
    if (this.#keeper !== keeper) return
    this.#keeper = undefined
    this.#logger.warn({}, 'the process that ends Envoy with Gatehouse is gone; starting it again')
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
