// Counters shared by all workers in an unnamed file: each worker writes its own cells and reads those of all. A worker
// writes before it reads: of two simultaneous additions both may be rejected, but the limit is never exceeded.

import { hash } from 'node:crypto'
import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { errorText } from '../errors.js'
import type { Tally } from '../extproc/stream/tally.js'

const ROWS = 4096
/** The rows of held bytes, of unfinished messages and of bodies of anonymous clients; the others count named things, by the hash of the name. */
const HELD_ROW = 0
const MESSAGES_ROW = 1
const ANONYMOUS_ROW = 2
const FIRST_NAMED_ROW = 3
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
  const fd = openUnnamed(ROWS * row, folders)
  const zero = Buffer.alloc(CELL)
  return {
    fd,
    clear(worker) {
      for (let index = 0; index < ROWS; index += 1)
        writeSync(fd, zero, 0, CELL, index * row + (worker - 1) * CELL)
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
  /** The part of held bytes that bodies of anonymous clients have. */
  readonly anonymous: Tally
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
    add(amount, max) {
      const before = own[row] ?? 0
      write(row, before + amount)
      if (amount <= 0 || sum(row) <= max) return true
      write(row, before)
      return false
    },
  })
  return {
    heldBytes: tally(HELD_ROW),
    messages: tally(MESSAGES_ROW),
    anonymous: tally(ANONYMOUS_ROW),
    named: (name) => {
      const hashed = hash('sha256', name, 'buffer').readUInt32LE(0)
      return tally(FIRST_NAMED_ROW + (hashed % (ROWS - FIRST_NAMED_ROW)))
    },
  }
}
