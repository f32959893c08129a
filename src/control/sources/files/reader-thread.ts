// Reads and decodes files in a worker thread, so no file content can block requests or crash the process. Small files are
// asked for several at a time: a message and its answer cost as much as reading one of them.

import { getHeapStatistics } from 'node:v8'
import { Worker } from 'node:worker_threads'
import { ownFile } from '../../../kit/own-files.js'
import type { Part, ReadFile } from './read-documents.js'

/** A file to read. A message to the thread is a list of them. */
export interface ReadQuestion {
  readonly path: string
  readonly size: number
  /** Hashes of documents that need not be decoded again. */
  readonly known: readonly string[]
  readonly part?: Part | undefined
}

/** An answer of the thread: what a message asked for, in its order. 'loaded', sent first: its program is loaded. */
export type ReadAnswer = readonly ReadFile[] | 'loaded'

/** What a thread is started with. */
export interface ReaderThreadOptions {
  readonly apiGroup: string
  /** Timeout for what is asked for at once; default 30 s. */
  readonly timeoutMs?: number
  /** Heap limit of the thread in MiB; default: half the limit of the current thread. */
  readonly heapMb?: number
  /** URL of the compiled program. */
  readonly program?: URL
}

const TIMEOUT_MS = 30_000
const PROGRAM = ownFile('dist/control/sources/files/reader-main.js')

/** A thread that reads files. */
export interface ThreadReader {
  /** Reads the files in their order. Never rejects. */
  read(files: readonly ReadQuestion[]): Promise<readonly ReadFile[]>
  close(): void
  /** Number of reads that are not answered yet. */
  readonly waiting: number
  /** Whether its program is loaded, or starts on the next request. */
  readonly isReady: boolean
}

interface Waiting {
  readonly files: readonly ReadQuestion[]
  readonly done: (reads: readonly ReadFile[]) => void
}

/**
 * Answers in order, so if the thread dies, the first that waits caused it. If that is more than one file, each is asked for
 * alone, which shows which of them it was.
 */
export class ReaderThread implements ThreadReader {
  readonly #options: ReaderThreadOptions
  readonly #onReady: () => void
  #worker: Worker | undefined
  #waiting: Waiting[] = []
  #deadline: NodeJS.Timeout | undefined
  /** Whether the program is loaded. Deadlines apply only from then on, as loading must not count against a file. */
  #isLoaded = false
  #closed = false

  constructor(options: ReaderThreadOptions, onReady: () => void = () => undefined) {
    this.#options = options
    this.#onReady = onReady
    this.#worker = this.#start()
  }

  get waiting(): number {
    return this.#waiting.length
  }

  get isReady(): boolean {
    return this.#isLoaded || this.#worker === undefined
  }

  read(files: readonly ReadQuestion[]): Promise<readonly ReadFile[]> {
    if (this.#closed) return Promise.resolve(files.map(() => CLOSED))
    return new Promise((done) => {
      this.#waiting.push({ files, done })
      this.#send(this.#waiting.length - 1)
    })
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#deadline)
    void this.#worker?.terminate()
    for (const { files, done } of this.#waiting.splice(0)) done(files.map(() => CLOSED))
  }

  #start(): Worker {
    const heapMb = this.#options.heapMb ?? getHeapStatistics().heap_size_limit / 2 / 1024 / 1024
    const worker = new Worker(this.#options.program ?? PROGRAM, {
      workerData: this.#options.apiGroup,
      resourceLimits: { maxOldGenerationSizeMb: Math.ceil(heapMb) },
      // Without the flags of a debugger or test runner.
      execArgv: [],
    })
    let problem = 'it ended'
    worker.on('message', (answer: ReadAnswer) => {
      if (this.#worker !== worker) return
      if (answer === 'loaded') this.#isLoaded = true
      else this.#waiting.shift()?.done(answer)
      this.#startDeadline()
      if (answer === 'loaded') this.#onReady()
    })
    worker.on('error', (error: NodeJS.ErrnoException) => {
      problem =
        error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'it takes too much memory' : error.message
    })
    worker.on('exit', () => {
      if (this.#worker === worker) this.#replace(problem)
    })
    worker.unref()
    return worker
  }

  #send(index: number): void {
    const waiting = this.#waiting[index]
    if (waiting === undefined) return
    this.#worker ??= this.#start()
    this.#worker.postMessage(waiting.files)
    if (index === 0) this.#startDeadline()
  }

  #startDeadline(): void {
    clearTimeout(this.#deadline)
    const { timeoutMs = TIMEOUT_MS } = this.#options
    if (this.#waiting.length === 0 || !this.#isLoaded) return
    this.#deadline = setTimeout(() => {
      const worker = this.#worker
      this.#replace(`it takes longer than ${timeoutMs / 1000} s`)
      void worker?.terminate()
    }, timeoutMs)
  }

  /** Fails the file that the thread was reading, or asks for each of those alone, and sends the rest to a new thread. */
  #replace(problem: string): void {
    this.#worker = undefined
    this.#isLoaded = false
    clearTimeout(this.#deadline)
    if (this.#closed) return
    const first = this.#waiting.shift()
    if (first?.files.length === 1)
      first.done([{ type: 'broken', message: `cannot be parsed: ${problem}` }])
    else if (first !== undefined) this.#waiting.unshift(...oneByOne(first))
    for (const index of this.#waiting.keys()) this.#send(index)
    this.#onReady()
  }
}

/** Asks for each file alone; what they give together is what was waited for. */
function oneByOne({ files, done }: Waiting): readonly Waiting[] {
  const reads: ReadFile[] = []
  return files.map((file) => ({
    files: [file],
    done: (own) => {
      reads.push(...own)
      if (reads.length === files.length) done(reads)
    },
  }))
}

/** The result of a reader that was closed. */
export const CLOSED: ReadFile = { type: 'broken', message: 'is not read any more', unread: true }
