// Files and folders, watched → the resources in them, whole, at every change.

import { watch } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { debounce } from '../decode/debounce.js'
import { holdBackNewRoutes } from '../decode/quarantine.js'
import { kindsOf } from '../kinds/kinds.js'
import type { ProviderState, ResourceProvider } from '../kinds/resources.js'
import { EMPTY_RECORD, type FileRecord, recordOf } from './file-record.js'
import { type FileTree, findFiles, type FoundFile } from './file-tree.js'
import { createFolderWatcher, type WatchFolder } from './folder-watcher.js'
import { stateOf } from './load-resources.js'
import { type DocumentReader, readerInPlace } from './read-documents.js'
import { SeenWrites } from './seen-writes.js'
import { doubtOf, inForceOf, QUIET_MS } from './unsettled.js'

export interface FileProviderOptions {
  /** Files, or folders that are read with all below them. */
  readonly paths: readonly string[]
  /** {policy_api_group} of the specification. */
  readonly apiGroup: string
  /** A sentence for the log: a folder cannot be watched and is polled instead. */
  readonly onWarning: (message: string) => void
  /** In this thread, if absent. */
  readonly reader?: DocumentReader
  /** node:fs's watch, if absent. */
  readonly watch?: WatchFolder
  /** With more, nothing is read; 20,000, if absent. */
  readonly maxFiles?: number
}

const DEBOUNCE = { quiet: 50, maxWait: 400 }
/** A tree that still grows then is looked at again when its watchers say so. */
const MAX_LOOKS = 10
const POLL_INTERVAL = 1000
/** Files that are read side by side. */
const AT_ONCE = 32
/** How long a file that became empty counts as one that is being written. */
const EMPTY_FOR = 500

/** What is said of a folder without resources: most likely it is another one that was meant. */
export const NOTHING_SERVED =
  'nothing to serve; files that end in .yaml, .yml or .json are read, in folders below too'

export const createFileProvider = (options: FileProviderOptions): ResourceProvider =>
  new FileProvider(options)

interface ReadFile {
  readonly stamp: string
  readonly inode: string
  readonly record: FileRecord
  /** It has been written to in place since it was last quiet. */
  readonly writing?: Writing | undefined
  /** performance.now() when it was first seen empty; it still counts as what it was. */
  readonly emptySince?: number
}

interface WatchedTree {
  readonly tree: FileTree
  /** Folders that were not watched until now. */
  readonly opened: ReadonlySet<string>
}

interface Writing {
  /** What it held when it was quiet. */
  readonly before: FileRecord
  /** performance.now() when its last change was seen. */
  readonly since: number
}

class FileProvider implements ResourceProvider {
  readonly #options: FileProviderOptions
  readonly #kinds
  readonly #reader
  readonly #files = new Map<string, ReadFile>()
  readonly #writes = new SeenWrites()
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
    this.#reader = options.reader ?? readerInPlace(this.#kinds)
    this.#watcher = createFolderWatcher({
      watch: options.watch ?? watch,
      onChange: (event, name) => {
        this.#writes.saw(event, name)
        this.#changed.call()
      },
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
    this.#reader.close()
    await this.#running
  }

  /** One at a time, in order. */
  #refresh(): Promise<void> {
    this.#running = this.#running.then(() => this.#readAll())
    return this.#running
  }

  async #readAll(): Promise<void> {
    if (this.#closed) return
    const { tree, opened } = await this.#watchedTree()
    const changed = [this.#forget(tree), this.#settle(tree)]
    const unknown = tree.files.filter((file) => !this.#isKnown(file))
    for (let first = 0; first < unknown.length && !this.#closed; first += AT_ONCE) {
      const some = unknown.slice(first, first + AT_ONCE)
      changed.push(...(await Promise.all(some.map((file) => this.#read(file, opened)))))
    }
    if (this.#closed) return
    this.#report(tree, changed.includes(true))
    this.#writes.forgetOld()
    this.#lookAgain(tree)
  }

  /** At what changes although no watcher says so: a file that stays as it is, and the system's "too many open files". */
  #lookAgain({ unread }: FileTree): void {
    const now = performance.now()
    const waits = [...this.#files.values()].flatMap(({ record, emptySince, writing }) => [
      ...(record.unread === true ? [POLL_INTERVAL] : []),
      ...(emptySince === undefined ? [] : [EMPTY_FOR]),
      ...(writing === undefined ? [] : [Math.max(0, writing.since + QUIET_MS - now)]),
    ])
    clearTimeout(this.#again)
    const wait = Math.min(...waits, unread ? POLL_INTERVAL : Infinity)
    if (wait !== Infinity) this.#again = setTimeout(() => void this.#refresh(), wait)
  }

  /** Looks again after it began to watch, so that no change falls between. */
  async #watchedTree(): Promise<WatchedTree> {
    const opened = new Set<string>()
    for (let looks = 1; ; looks++) {
      const tree = await findFiles(this.#options.paths, this.#options.maxFiles)
      const more = this.#closed ? [] : await this.#watcher.update(tree.folders)
      for (const folder of more) opened.add(folder)
      if (more.length === 0 || looks === MAX_LOOKS) return { tree, opened }
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

  /** What has been quiet for long enough is in force as it is. */
  #settle({ files }: FileTree): boolean {
    const oldest = performance.now() - QUIET_MS
    let settled = false
    for (const { path, stamp } of files) {
      const known = this.#files.get(path)
      if (known?.writing === undefined || known.writing.since > oldest || known.stamp !== stamp)
        continue
      this.#files.set(path, { ...known, writing: undefined })
      settled = true
    }
    return settled
  }

  async #read(file: FoundFile, opened: ReadonlySet<string>): Promise<boolean> {
    const { path, stamp, inode } = file
    const before = this.#files.get(path)
    const last = before && this.#lastGood(path, before)
    const read = await this.#reader.read(file, last?.documents ?? new Map())
    const record = recordOf(read, path, this.#kinds, last)
    const writing = await this.#writing(file, before, opened)
    const emptySince = before?.emptySince ?? performance.now()
    if (wasEmptied(record, before) && performance.now() - emptySince < EMPTY_FOR) {
      this.#files.set(path, { stamp, inode, record: before.record, emptySince, writing })
      return false
    }
    this.#files.set(path, { stamp, inode, record, writing })
    return record.unread === undefined || before?.record.unread === undefined
  }

  async #writing(
    file: FoundFile,
    before: ReadFile | undefined,
    opened: ReadonlySet<string>,
  ): Promise<Writing | undefined> {
    if (!(await this.#isWrittenInPlace(file, before, opened))) return undefined
    const isOlder = before?.stamp === file.stamp && before.writing !== undefined
    return {
      before: before?.writing?.before ?? before?.record ?? EMPTY_RECORD,
      since: isOlder ? before.writing.since : performance.now(),
    }
  }

  /** What stays of it where a document of it is broken: what is in force. */
  #lastGood(path: string, file: ReadFile): FileRecord {
    return { ...file.record, resources: this.#inForce(path, file).resources }
  }

  #inForce(path: string, { record, writing }: ReadFile): FileRecord {
    const policies = this.#state?.resources.proxyPolicies ?? []
    return writing === undefined
      ? record
      : inForceOf({ path, before: writing.before, now: record, policies })
  }

  /** Rather than renamed to where it is, whole. What there is at the start is taken as it is. */
  async #isWrittenInPlace(
    file: FoundFile,
    before: ReadFile | undefined,
    opened: ReadonlySet<string>,
  ): Promise<boolean> {
    if (this.#state === undefined) return false
    if (before?.inode === file.inode) return true
    // What was written before we read it has its event in the queue: it is read in the next turn of the loop.
    await turn()
    await turn()
    if (this.#writes.has(file.name)) return true
    const folder = dirname(resolve(file.path))
    const isWatched = this.#watcher.watches(folder) && !opened.has(folder)
    if (isWatched || (file.isLink && before !== undefined)) return false
    return Date.now() - file.writtenAt < QUIET_MS
  }

  #report({ problems }: FileTree, changed: boolean): void {
    const treeProblems = JSON.stringify(problems)
    if (!changed && this.#state !== undefined && treeProblems === this.#treeProblems) return
    this.#treeProblems = treeProblems
    const files = [...this.#files].sort(([a], [b]) => (a < b ? -1 : 1))
    const records = files.map(([path, file]) => this.#inForce(path, file))
    const unsettled = files.flatMap(
      ([path, { record, writing }]) =>
        (writing && doubtOf({ path, before: writing.before, now: record })) ?? [],
    )
    this.#state = holdBackNewRoutes(stateOf(records, problems, unsettled), this.#state)
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
