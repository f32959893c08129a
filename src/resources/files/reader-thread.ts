// Reads and decodes files in a worker thread, so no file content can block requests or crash the process.

import { getHeapStatistics } from 'node:v8'
import { Worker } from 'node:worker_threads'
import { ownFile } from '../../own-files.js'
import type { DocumentReader, Part, ReadFile } from './read-documents.js'

/** A message to the thread: the file to read. */
export interface ReadQuestion {
  readonly path: string
  readonly size: number
  readonly known: readonly string[]
  readonly part?: Part | undefined
}

/** An answer of the thread; 'loaded', sent first, means that its program is loaded. */
export type ReadAnswer = ReadFile | 'loaded'

/** What a thread is started with. */
export interface ReaderThreadOptions {
  readonly apiGroup: string
  /** Timeout for one file; default 30 s. */
  readonly timeoutMs?: number
  /** Heap limit of the thread in MiB; default: half the limit of the current thread. */
  readonly heapMb?: number
  /** URL of the compiled program. */
  readonly program?: URL
}

const TIMEOUT_MS = 30_000
const PROGRAM = ownFile('dist/resources/files/reader-main.js')

/** A reader that can read parts of files and reports how busy it is. */
export interface ThreadReader extends DocumentReader {
  read(
    file: { readonly path: string; readonly size: number },
    known: ReadonlyMap<string, unknown>,
    part?: Part,
  ): Promise<ReadFile>
  /** Number of files requested and not answered yet. */
  readonly waiting: number
  /** Whether its program is loaded, or starts on the next request. */
  readonly isReady: boolean
}

interface Waiting extends ReadQuestion {
  readonly done: (read: ReadFile) => void
}

/** Answers in order, one file at a time, so if the thread dies, the first waiting file caused it. */
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

  read(
    { path, size }: { readonly path: string; readonly size: number },
    known: ReadonlyMap<string, unknown>,
    part?: Part,
  ): Promise<ReadFile> {
    if (this.#closed) return Promise.resolve(CLOSED)
    return new Promise((done) => {
      this.#waiting.push({ path, size, known: [...known.keys()], part, done })
      this.#send(this.#waiting.length - 1)
    })
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#deadline)
    void this.#worker?.terminate()
    for (const { done } of this.#waiting.splice(0)) done(CLOSED)
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
    const question = this.#waiting[index]
    if (question === undefined) return
    this.#worker ??= this.#start()
    const { path, size, known, part } = question
    this.#worker.postMessage({ path, size, known, part } satisfies ReadQuestion)
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

  /** Fails the first waiting file and sends the rest to a new thread. */
  #replace(problem: string): void {
    this.#worker = undefined
    this.#isLoaded = false
    clearTimeout(this.#deadline)
    if (this.#closed) return
    this.#waiting.shift()?.done({ type: 'broken', message: `cannot be parsed: ${problem}` })
    for (const index of this.#waiting.keys()) this.#send(index)
    this.#onReady()
  }
}

/** The result of a reader that was closed. */
export const CLOSED: ReadFile = { type: 'broken', message: 'is not read any more', unread: true }
