// Appends lines to a file without ever making the caller wait: lines are held in memory, within a limit, until the disk
// has taken them.

import { setTimeout as delay } from 'node:timers/promises'
import { errorText } from '../../kit/errors.js'
import { type LineTarget, openLineTarget } from './line-target.js'

/** A file that is appended to. */
export interface LineFile {
  /** Adds a line, with its line break. Drops it if too much is waiting. */
  write(line: string): void
  /** Writes what is waiting, for at most a second; drops later lines. */
  close(): Promise<void>
}

/** What a file is opened with. */
export interface LineFileOptions {
  readonly path: string
  /** Called with the number of lines that were written, or dropped because too many waited or the file was closed. */
  onLines(result: 'sent' | 'dropped', lines: number): void
  /** Called for each failed attempt to write. */
  onFailure(problem: string): void
  /** Maximum characters that wait; default 4 Mi. */
  readonly maxWaiting?: number
  /** Pause between writes, in milliseconds; default 100. */
  readonly pauseMs?: number
  /** Pause after a failure, in milliseconds; default 1000. */
  readonly retryMs?: number
}

const MAX_WAITING = 4 * 1024 * 1024
const PAUSE_MS = 100
const RETRY_MS = 1_000
const CLOSE_MS = 1_000
/** @throws {Error} for a person when the file cannot be opened for appending. */
export function openLineFile(options: LineFileOptions): LineFile {
  try {
    return new AppendedFile(options, openLineTarget(options.path))
  } catch (error) {
    throw new Error(`${options.path} cannot be opened for appending: ${errorText(error)}`, {
      cause: error,
    })
  }
}

class AppendedFile implements LineFile {
  readonly #options: LineFileOptions
  readonly #target: LineTarget
  readonly #waiting: string[] = []
  /** Characters of the waiting lines. */
  #characters = 0
  /** The text that is being written; after a failure, the rest of it. */
  #batch: Batch = EMPTY
  #writing: Promise<void> | undefined
  readonly #closing = new AbortController()

  constructor(options: LineFileOptions, target: LineTarget) {
    this.#options = options
    this.#target = target
  }

  write(line: string): void {
    const isFull = this.#characters + line.length > (this.#options.maxWaiting ?? MAX_WAITING)
    if (isFull || this.#closing.signal.aborted) return this.#options.onLines('dropped', 1)
    this.#waiting.push(line)
    this.#characters += line.length
    this.#writing ??= this.#writeAll().finally(() => (this.#writing = undefined))
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.race([this.#writing, delay(CLOSE_MS, undefined, { ref: false })])
    const left = this.#waiting.length + this.#batch.lines
    if (left > 0) this.#options.onLines('dropped', left)
    void this.#target.release()
  }

  /** Writes until nothing waits; once the file is closed, until the first failure. */
  async #writeAll(): Promise<void> {
    const { pauseMs = PAUSE_MS, retryMs = RETRY_MS } = this.#options
    await this.#pause(pauseMs)
    while (this.#batch.lines > 0 || this.#waiting.length > 0) {
      try {
        await this.#writeBatch()
      } catch (error) {
        this.#options.onFailure(errorText(error))
        await this.#target.release()
        if (this.#closing.signal.aborted) return
        await this.#pause(retryMs)
      }
    }
  }

  async #pause(ms: number): Promise<void> {
    const { signal } = this.#closing
    await delay(ms, undefined, { signal, ref: false }).catch(() => undefined)
  }

  async #writeBatch(): Promise<void> {
    if (this.#batch.lines === 0) this.#batch = this.#nextBatch()
    while (this.#batch.bytes.length > 0) {
      const { bytes, lines } = this.#batch
      const written = await this.#target.write(bytes)
      this.#batch = { bytes: bytes.subarray(written), lines }
    }
    this.#options.onLines('sent', this.#batch.lines)
    this.#batch = EMPTY
  }

  #nextBatch(): Batch {
    let lines = 0
    let characters = 0
    for (const { length } of this.#waiting) {
      if (lines > 0 && characters + length > this.#target.maxBatch) break
      lines += 1
      characters += length
    }
    this.#characters -= characters
    return { bytes: Buffer.from(this.#waiting.splice(0, lines).join('')), lines }
  }
}

interface Batch {
  readonly bytes: Buffer
  /** Number of lines in the batch when it began. */
  readonly lines: number
}

const EMPTY: Batch = { bytes: Buffer.alloc(0), lines: 0 }
