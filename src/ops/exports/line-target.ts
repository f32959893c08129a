// Where a line file appends its bytes: the file at a path, or an output that the process was started with. None of them
// can block a thread: what takes nothing more is an error, or a write that waits.

import { closeSync, constants, fstatSync, openSync, write } from 'node:fs'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { stderr, stdout } from 'node:process'
import type { Writable } from 'node:stream'
import { promisify } from 'node:util'

/** Where bytes are appended. */
export interface LineTarget {
  /** Maximum number of characters in one write. */
  readonly maxBatch: number
  /** Resolves to the number of bytes that were written. */
  write(bytes: Buffer): Promise<number>
  /** Gives back what was opened; the next write opens it again. */
  release(): Promise<void>
}

/** A batch for a file: other writers append before or after it. */
const FILE_BATCH = 256 * 1024
/** A batch for pipes and sockets: the kernel does not mix so few bytes with those of other writers (PIPE_BUF). */
const STREAM_BATCH = 4096

/** To append. A pipe that nobody reads is an error: it must never block a thread, or the end of the process. */
const FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NONBLOCK
/** Readable by the group, because log collectors often run as another user. */
const MODE = 0o640

const DESCRIPTOR = /^\/(?:dev|proc\/self)\/fd\/(\d{1,5})$/

/** Returns the descriptor that a path such as /dev/stdout names; undefined: it names none. */
export function descriptorOf(path: string): number | undefined {
  if (path === '/dev/stdout') return 1
  if (path === '/dev/stderr') return 2
  const [, number] = DESCRIPTOR.exec(path) ?? []
  return number === undefined ? undefined : Number(number)
}

/** @throws {Error} when the path cannot be opened for appending. */
export function openLineTarget(path: string): LineTarget {
  const descriptor = descriptorOf(path)
  // Whoever opens the file again has a position of their own in it, and overwrites the lines of other writers.
  if (descriptor !== undefined && fstatSync(descriptor).isFile()) return fileAt(descriptor)
  try {
    const opened = openSync(path, FLAGS, MODE)
    const isFile = fstatSync(opened).isFile()
    closeSync(opened)
    return new PathTarget(path, isFile ? FILE_BATCH : STREAM_BATCH)
  } catch (error) {
    // Sockets cannot be opened again (ENXIO), nor can pipes and terminals of another user (EACCES).
    const output = descriptor === undefined ? undefined : OUTPUTS[descriptor]?.()
    if (output === undefined) throw error
    return streamTarget(output)
  }
}

/** The outputs that Node itself writes to without blocking. */
const OUTPUTS: Readonly<Record<number, () => Writable>> = {
  1: () => stdout,
  2: () => stderr,
}

const fileAt = (descriptor: number): LineTarget => ({
  maxBatch: FILE_BATCH,
  write: async (bytes) => (await writeTo(descriptor, bytes)).bytesWritten,
  release: () => Promise.resolve(),
})

const writeTo = promisify(write)

const streamTarget = (output: Writable): LineTarget => ({
  maxBatch: STREAM_BATCH,
  write: (bytes) =>
    new Promise((resolve, reject) => {
      output.write(bytes, (error) => (error ? reject(error) : resolve(bytes.length)))
    }),
  release: () => Promise.resolve(),
})

/** The file at a path, which is opened again after it was renamed or removed. */
class PathTarget implements LineTarget {
  #handle: FileHandle | undefined

  constructor(
    private readonly path: string,
    readonly maxBatch: number,
  ) {}

  async write(bytes: Buffer): Promise<number> {
    return (await (await this.#current()).write(bytes)).bytesWritten
  }

  async release(): Promise<void> {
    const handle = this.#handle
    this.#handle = undefined
    await handle?.close().catch(() => undefined)
  }

  async #current(): Promise<FileHandle> {
    const { path } = this
    if (this.#handle !== undefined) {
      const [own, named] = await Promise.all([
        this.#handle.stat(),
        stat(path).catch(() => undefined),
      ])
      if (own.ino === named?.ino && own.dev === named.dev) return this.#handle
      await this.release()
    }
    return (this.#handle = await open(path, FLAGS, MODE))
  }
}
