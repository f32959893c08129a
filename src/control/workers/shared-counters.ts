// Counters shared by all workers in an unnamed file: each worker writes its own cells and reads those of all. A worker
// writes before it reads: of two simultaneous additions both may be rejected, but the limit is never exceeded.

import { hash, randomBytes } from 'node:crypto'
import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CallerTallies } from '../../extproc/session/shares.js'
import type { Tally } from '../../extproc/session/tally.js'
import { errorText } from '../../kit/errors.js'

/** Row of a random number, which no name is chosen to collide with: names are counted in the row of their hash. */
const SALT_ROW = 0
/** The rows of held bytes, of unfinished messages and of bodies of unknown clients. */
const HELD_ROW = 1
const MESSAGES_ROW = 2
const UNKNOWN_ROW = 3
const NAMED_ROWS = 4096
/** First rows of calls by provider, and of held bytes by namespace: those of all and of unknown clients. */
const PROVIDERS_ROW = 4
const NAMESPACES_ROW = PROVIDERS_ROW + NAMED_ROWS
const UNKNOWN_NAMESPACES_ROW = NAMESPACES_ROW + NAMED_ROWS
const ROWS = UNKNOWN_NAMESPACES_ROW + NAMED_ROWS
const CELL = 8

/** File descriptor of the file in a worker. */
export const COUNTERS_FD = 4

/** The file of the counters, in the main process. */
export interface CountersFile {
  readonly fd: number
  /** Resets the cells of a worker that has ended. */
  clear(worker: number): void
  close(): void
}

/** Folders in which the file may be made, the first in memory. */
const FOLDERS = ['/dev/shm', tmpdir()] as const

/** Creates the file, in memory if /dev/shm has room for it. @throws {Error} a sentence for a person. */
export function createCountersFile(
  workers: number,
  folders: readonly string[] = FOLDERS,
): CountersFile {
  const row = workers * CELL
  const size = ROWS * row
  const fd = openUnnamed(size, folders)
  writeSync(fd, randomBytes(CELL), 0, CELL, SALT_ROW * row)
  const zero = Buffer.alloc(CELL)
  return {
    fd,
    clear(worker) {
      const cells = Buffer.alloc(size)
      readSync(fd, cells, 0, size, 0)
      for (let at = HELD_ROW * row + (worker - 1) * CELL; at < size; at += row)
        if (!cells.subarray(at, at + CELL).equals(zero)) writeSync(fd, zero, 0, CELL, at)
    },
    close: () => closeSync(fd),
  }
}

function openUnnamed(size: number, [folder = '', ...others]: readonly string[]): number {
  try {
    return zeroFile(size, folder)
  } catch (error) {
    if (others.length > 0) return openUnnamed(size, others)
    throw new Error(
      `no file of ${size} bytes can be made in ${folder} for what workers count together: set TMPDIR to a folder with room for it (${errorText(error)})`,
      { cause: error },
    )
  }
}

/** Creates an unnamed file of zeros, all of it written: later writes into it need no more room on the disk. */
function zeroFile(size: number, folder: string): number {
  const own = mkdtempSync(join(folder, 'gatehouse-counters-'))
  let fd: number | undefined
  try {
    fd = openSync(join(own, 'counters'), 'wx+', 0o600)
    // A disk with some room left takes a part.
    const zeros = Buffer.alloc(size)
    for (let at = 0; at < size;) at += writeSync(fd, zeros, at, size - at, at)
    return fd
  } catch (error) {
    if (fd !== undefined) closeSync(fd)
    throw error
  } finally {
    rmSync(own, { recursive: true, force: true })
  }
}

/** The counters, as one worker sees them. */
export interface SharedCounters {
  readonly heldBytes: Tally
  /** Bytes of gRPC messages that have not arrived whole. */
  readonly messages: Tally
  /** The parts of held bytes by caller and namespace. */
  readonly callers: CallerTallies
  /** Returns the tally of a name. Names with colliding hashes share one: each gets less than its limit, never more. */
  named(name: string): Tally
}

/** Opens the counters in a worker. worker: its number, from 1. */
export function openCounters(fd: number, worker: number, workers: number): SharedCounters {
  const cells = Buffer.alloc(workers * CELL)
  const own = new Float64Array(ROWS)
  const cell = Buffer.alloc(CELL)

  const write = (row: number, value: number): void => {
    own[row] = value
    cell.writeDoubleLE(value)
    writeSync(fd, cell, 0, CELL, (row * workers + worker - 1) * CELL)
  }
  const sum = (row: number): number => {
    readSync(fd, cells, 0, cells.length, row * cells.length)
    let all = 0
    for (let at = 0; at < cells.length; at += CELL) all += cells.readDoubleLE(at)
    return all
  }
  const tally = (row: number): Tally => ({
    own: () => own[row] ?? 0,
    all: () => sum(row),
    add(amount, max) {
      const before = own[row] ?? 0
      write(row, before + amount)
      if (amount <= 0 || sum(row) <= max) return true
      write(row, before)
      return false
    },
  })
  readSync(fd, cell, 0, CELL, SALT_ROW * workers * CELL)
  const salt = cell.toString('hex')
  const named = (first: number, name: string): Tally => {
    const hashed = hash('sha256', `${salt} ${name}`, 'buffer').readUInt32LE(0)
    return tally(first + (hashed % NAMED_ROWS))
  }
  return {
    heldBytes: tally(HELD_ROW),
    messages: tally(MESSAGES_ROW),
    callers: {
      unknown: tally(UNKNOWN_ROW),
      ofNamespace: (namespace) => named(NAMESPACES_ROW, namespace),
      unknownOfNamespace: (namespace) => named(UNKNOWN_NAMESPACES_ROW, namespace),
    },
    named: (name) => named(PROVIDERS_ROW, name),
  }
}
