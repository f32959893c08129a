// Files and folders, watched → the resources in them, whole, at every change.

import { watch } from 'node:fs'
import { debounce } from '../decode/debounce.js'
import type { FileRecord } from './file-record.js'
import { findFiles, type FileTree, type FoundFile } from './file-tree.js'
import { createFolderWatcher, type WatchFolder } from './folder-watcher.js'
import { holdBackNewRoutes } from '../decode/quarantine.js'
import { kindsOf } from '../kinds/kinds.js'
import { readRecord, stateOf } from './load-resources.js'
import type { ResourceProvider, ProviderState } from '../kinds/resources.js'

export interface FileProviderOptions {
  /** Files, or folders that are read with all below them. */
  readonly paths: readonly string[]
  /** {policy_api_group} of the specification. */
  readonly apiGroup: string
  /** A sentence for the log: a folder cannot be watched and is polled instead. */
  readonly onWarning: (message: string) => void
  /** node:fs's watch, if absent. */
  readonly watch?: WatchFolder
}

const DEBOUNCE = { quiet: 50, maxWait: 400 }
/** A tree that still grows then is looked at again when its watchers say so. */
const MAX_LOOKS = 10
const POLL_INTERVAL = 1000
/** How long a file that became empty counts as one that is being written. */
const EMPTY_FOR = 500

/** What is said of a folder without resources: most likely it is another one that was meant. */
export const NOTHING_SERVED =
  'nothing to serve; files that end in .yaml, .yml or .json are read, in folders below too'

export const createFileProvider = (options: FileProviderOptions): ResourceProvider =>
  new FileProvider(options)

interface ReadFile {
  readonly stamp: string
  readonly record: FileRecord
  /** performance.now() when it was first seen empty; it still counts as what it was. */
  readonly emptySince?: number
}

class FileProvider implements ResourceProvider {
  readonly #options: FileProviderOptions
  readonly #kinds
  readonly #files = new Map<string, ReadFile>()
  readonly #changed = debounce(() => void this.#refresh(), DEBOUNCE)
  readonly #watcher
  #onChange: (state: ProviderState) => void = () => undefined
  #state: ProviderState | undefined
  #treeProblems = ''
  readonly #polled = new Set<string>()
  #running: Promise<void> = Promise.resolve()
  #polling: NodeJS.Timeout | undefined
  #again: NodeJS.Timeout | undefined
  #closed = false

  constructor(options: FileProviderOptions) {
    this.#options = options
    this.#kinds = kindsOf(options.apiGroup)
    this.#watcher = createFolderWatcher({
      watch: options.watch ?? watch,
      onChange: () => this.#changed.call(),
      onFailure: (folder, code) => this.#poll(folder, code),
    })
  }

  async start(onChange: (state: ProviderState) => void): Promise<void> {
    this.#onChange = onChange
    await this.#refresh()
    const isEmpty = [...this.#files.values()].every(({ record }) => record.documents.size === 0)
    if (isEmpty && this.#treeProblems === '[]')
      this.#options.onWarning(`${this.#options.paths.join(', ')}: ${NOTHING_SERVED}`)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#changed.cancel()
    clearInterval(this.#polling)
    clearTimeout(this.#again)
    this.#watcher.close()
    await this.#running
  }

  /** One at a time, in order. */
  #refresh(): Promise<void> {
    this.#running = this.#running.then(() => this.#readAll())
    return this.#running
  }

  async #readAll(): Promise<void> {
    if (this.#closed) return
    const tree = await this.#watchedTree()
    const changed = [this.#forget(tree)]
    for (const file of tree.files) if (!this.#isKnown(file)) changed.push(await this.#read(file))
    if (this.#closed) return
    this.#report(tree, changed.includes(true))
    this.#lookAgain(tree)
  }

  /** At what changes although no watcher says so: a file that stays empty, and the system's "too many open files". */
  #lookAgain({ unread }: FileTree): void {
    const files = [...this.#files.values()]
    const isUnread = unread || files.some(({ record }) => record.unread)
    const isEmpty = files.some(({ emptySince }) => emptySince !== undefined)
    clearTimeout(this.#again)
    if (!isEmpty && !isUnread) return
    this.#again = setTimeout(() => void this.#refresh(), isEmpty ? EMPTY_FOR : POLL_INTERVAL)
  }

  /** Looks again after it began to watch, so that no change falls between. */
  async #watchedTree(): Promise<FileTree> {
    for (let looks = 1; ; looks++) {
      const tree = await findFiles(this.#options.paths)
      const opened = !this.#closed && (await this.#watcher.update(tree.folders))
      if (!opened || looks === MAX_LOOKS) return tree
    }
  }

  /** Drops the files that are gone; what is below a folder that is lost as a whole (unmounted) stays. */
  #forget({ files, lost }: FileTree): boolean {
    const present = new Set(files.map(({ path }) => path))
    const gone = [...this.#files.keys()].filter(
      (path) => !present.has(path) && !lost.some((folder) => isAtOrBelow(path, folder)),
    )
    for (const path of gone) this.#files.delete(path)
    return gone.length > 0
  }

  #isKnown({ path, stamp }: FoundFile): boolean {
    const before = this.#files.get(path)
    return (
      before?.stamp === stamp &&
      before.emptySince === undefined &&
      before.record.unread === undefined
    )
  }

  async #read(file: FoundFile): Promise<boolean> {
    const { path, stamp } = file
    const before = this.#files.get(path)
    const record = await readRecord(file, this.#kinds, before?.record)
    const emptySince = before?.emptySince ?? performance.now()
    if (wasEmptied(record, before) && performance.now() - emptySince < EMPTY_FOR) {
      this.#files.set(path, { stamp, record: before.record, emptySince })
      return false
    }
    this.#files.set(path, { stamp, record })
    return record.unread === undefined || before?.record.unread === undefined
  }

  #report({ problems }: FileTree, changed: boolean): void {
    const treeProblems = JSON.stringify(problems)
    if (!changed && this.#state !== undefined && treeProblems === this.#treeProblems) return
    this.#treeProblems = treeProblems
    const paths = [...this.#files.keys()].sort()
    const records = paths.flatMap((path) => this.#files.get(path)?.record ?? [])
    this.#state = holdBackNewRoutes(stateOf(records, problems), this.#state)
    this.#onChange(this.#state)
  }

  #poll(folder: string, code: string): void {
    if (this.#closed) return
    if (!this.#polled.has(folder))
      this.#options.onWarning(`${folder} cannot be watched (${code}): it is polled instead`)
    this.#polled.add(folder)
    this.#polling ??= setInterval(() => void this.#refresh(), POLL_INTERVAL)
  }
}

/** Nothing is left of a file that had resources: most likely it is being written this moment. */
const wasEmptied = (record: FileRecord, before: ReadFile | undefined): before is ReadFile =>
  record.documents.size === 0 && before !== undefined && before.record.resources.length > 0

const isAtOrBelow = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`)
