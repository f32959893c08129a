// A pool of reader threads for startup and bulk changes: one is permanent, more start while there is much to read. Until
// all that was asked for first is read, nothing is served, so the threads may use every core.

import { availableParallelism } from 'node:os'
import type { FoundFile } from './file-tree.js'
import type { DocumentReader, Part, ReadFile } from './read-documents.js'
import {
  CLOSED,
  ReaderThread,
  type ReaderThreadOptions,
  type ThreadReader,
} from './reader-thread.js'

/** What a pool is started with. */
export interface ReaderPoolOptions extends ReaderThreadOptions {
  /** Cores to use: all at startup, one less afterwards, and never more than 4; default: those of the machine. */
  readonly cores?: number
  /** Starts a thread and calls onReady when it can be asked; default: a ReaderThread. */
  readonly startThread?: (onReady: () => void) => ThreadReader
  /** Queued bytes per thread that justify another thread; default 512 KiB. */
  readonly worthBytes?: number
}

const MOST = 4
/** Loading a thread takes about as long as reading this many bytes. */
const WORTH_BYTES = 512 * 1024
/** Opening a file and passing on its content costs as much as reading this many bytes. */
const FILE_COST = 4 * 1024
/** Files that cost up to this together are asked for at once, and queued ahead on a thread, which then need not wait. */
const SMALL = 64 * 1024
const AHEAD = 2
const IDLE_MS = 1_000

/** Starts a pool. */
export const startReaderPool = (options: ReaderPoolOptions): DocumentReader =>
  new ReaderPool(options)

type AskedFile = Pick<FoundFile, 'path' | 'size'>
type Known = ReadonlyMap<string, unknown>

interface Task {
  readonly file: AskedFile
  readonly known: Known
  readonly part: Part | undefined
  readonly cost: number
  readonly done: (read: ReadFile) => void
}

class ReaderPool implements DocumentReader {
  readonly #startThread: () => ThreadReader
  /** Maximum number of threads. */
  #max: number
  readonly #maxLater: number
  readonly #worth: number
  readonly #threads: ThreadReader[] = []
  readonly #queue: Task[] = []
  /** Total cost of the queued tasks. */
  #cost = 0
  #idle: NodeJS.Timeout | undefined
  #closed = false

  constructor(options: ReaderPoolOptions) {
    const own = (onReady: () => void): ThreadReader => new ReaderThread(options, onReady)
    const start = options.startThread ?? own
    this.#startThread = () => start(() => this.#assign())
    const cores = options.cores ?? availableParallelism()
    this.#max = Math.min(MOST, cores)
    this.#maxLater = Math.min(MOST, Math.max(1, cores - 1))
    this.#worth = options.worthBytes ?? WORTH_BYTES
    // Loading takes a while; starting it now means that the first file need not wait.
    this.#threads.push(this.#startThread())
  }

  read(file: AskedFile, known: Known): Promise<ReadFile> {
    if (this.#closed) return Promise.resolve(CLOSED)
    clearTimeout(this.#idle)
    const parts = Math.min(this.#max, Math.floor(file.size / this.#worth))
    return parts < 2 ? this.#ask(file, known) : this.#readInParts(file, known, parts)
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#idle)
    for (const thread of this.#threads) thread.close()
    for (const { done } of this.#queue.splice(0)) done(CLOSED)
  }

  /** Reads a large file in parts: each thread reads the whole file and decodes some of its documents. */
  async #readInParts(file: AskedFile, known: Known, count: number): Promise<ReadFile> {
    const indexes = [...Array(count).keys()]
    const parts = await Promise.all(
      indexes.map((index) => this.#ask(file, known, { index, count })),
    )
    return joinParts(parts) ?? this.#ask(file, known)
  }

  #ask(file: AskedFile, known: Known, part?: Part): Promise<ReadFile> {
    return new Promise((done) => {
      const cost = FILE_COST + file.size / (part?.count ?? 1)
      this.#queue.push({ file, known, part, cost, done })
      this.#cost += cost
      this.#assign()
    })
  }

  #assign(): void {
    if (this.#closed) return
    for (let next = this.#queue[0]; next !== undefined; next = this.#queue[0]) {
      const most = next.cost <= SMALL ? AHEAD : 1
      const thread = this.#freest()
      if (thread === undefined || thread.waiting >= most) break
      this.#give(thread)
    }
    if (this.#queue.length === 0) return this.#closeIdle()
    if (this.#threads.length < this.#max && this.#cost > this.#worth * this.#threads.length)
      this.#threads.push(this.#startThread())
  }

  #freest(): ThreadReader | undefined {
    return this.#threads
      .filter(({ isReady }) => isReady)
      .reduce<ThreadReader | undefined>(
        (found, each) => (found === undefined || each.waiting < found.waiting ? each : found),
        undefined,
      )
  }

  #give(thread: ThreadReader): void {
    const tasks = this.#nextTasks()
    const files = tasks.map(({ file: { path, size }, known, part }) => {
      return { path, size, known: [...known.keys()], part }
    })
    void thread.read(files).then((reads) => {
      for (const [index, read] of reads.entries()) tasks[index]?.done(read)
      if (this.#isIdle()) this.#max = this.#maxLater
      this.#assign()
    })
  }

  /** Takes from the queue what is asked for at once: one task, or several that are small together. */
  #nextTasks(): readonly Task[] {
    let [count, cost] = [0, 0]
    for (const task of this.#queue) {
      if (count > 0 && cost + task.cost > SMALL) break
      count += 1
      cost += task.cost
    }
    this.#cost -= cost
    return this.#queue.splice(0, count)
  }

  #isIdle(): boolean {
    return this.#queue.length === 0 && this.#threads.every(({ waiting }) => waiting === 0)
  }

  /** Closes all threads but one after an idle period. */
  #closeIdle(): void {
    if (this.#threads.length === 1 || !this.#isIdle()) return
    clearTimeout(this.#idle)
    this.#idle = setTimeout(() => {
      for (const thread of this.#threads.splice(1)) thread.close()
    }, IDLE_MS)
    this.#idle.unref()
  }
}

/** Merges the parts of a file; undefined if the file changed between two of the reads. */
function joinParts(parts: readonly ReadFile[]): ReadFile | undefined {
  const broken = parts.find(({ type }) => type === 'broken')
  if (broken !== undefined) return broken
  const read = parts.flatMap((part) => (part.type === 'documents' ? [part] : []))
  const [first] = read
  if (first === undefined || read.some(({ content }) => content !== first.content)) return undefined
  const count = read.reduce((sum, { documents }) => sum + documents.length, 0)
  const documents = Array.from({ length: count }, (_, index) => {
    const part = read[index % read.length]
    return part?.documents[Math.floor(index / read.length)]
  })
  return { type: 'documents', documents: documents.filter((each) => each !== undefined) }
}
