// Watches files and folders and reports all resources in them at every change.

import { watch } from 'node:fs'
import { lstat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { runInTurns } from '../../../kit/turns.js'
import { debounce } from '../../schema/decode/debounce.js'
import { holdBackNewRoutes } from '../../schema/decode/quarantine.js'
import { kindsOf } from '../../schema/kinds/kinds.js'
import type { ProviderState, ResourceProvider } from '../../schema/kinds/resources.js'
import { EMPTY_RECORD, recordOf } from './file-record.js'
import {
  fileErrorCode,
  type FileTree,
  findFiles,
  findFolders,
  type FoundFile,
  foundFile,
  isResourceFile,
  MAX_FILES,
} from './file-tree.js'
import { createFolderWatcher, type WatchedFolders, type WatchFolder } from './folder-watcher.js'
import { FullDisks } from './full-disk.js'
import { type KnownFile, KnownFiles, wasEmptied, type Writing } from './known-files.js'
import { type DocumentReader, readerInPlace } from './read-documents.js'
import { QUIET_MS } from './unsettled.js'

/** What the provider is created with. */
export interface FileProviderOptions {
  /** Files, and folders that are read recursively. */
  readonly paths: readonly string[]
  /** {policy_api_group} of the specification. */
  readonly apiGroup: string
  /** Whether routes without a policy are closed; default false. */
  readonly requirePolicy?: boolean
  /** Logs a sentence: a folder cannot be watched and is polled instead. */
  readonly onWarning: (message: string) => void
  /** Default: a reader in this thread. */
  readonly reader?: DocumentReader
  /** Default: the watch function of node:fs. */
  readonly watch?: WatchFolder
  /** Maximum number of files, above which nothing is read; default 20,000. */
  readonly maxFiles?: number
  /** Milliseconds from a look at reported names to a full walk; default 60,000. */
  readonly walkAfter?: number
}

const DEBOUNCE = { quiet: 50, maxWait: 400 }
const POLL_INTERVAL = 1000
/** Number of files requested from the reader at once: enough to show the reader how much there is to read. */
const AT_ONCE = 1024
/** How long, in milliseconds, a file that became empty counts as being written. */
const EMPTY_FOR = 500
/** Milliseconds from a look at reported names to a full walk, as the system may have dropped events. */
const WALK_AFTER = 60_000

/** Warning for a folder without resources: most likely the user meant another one. */
export const NOTHING_SERVED =
  'nothing to serve; files that end in .yaml, .yml or .json are read, in folders below too'

/** Creates a provider that has not started. */
export const createFileProvider = (options: FileProviderOptions): ResourceProvider =>
  new FileProvider(options)

/** The files to look at in one round. */
interface Round {
  readonly found: readonly FoundFile[]
  /** Paths of files that no longer exist. */
  readonly gone: readonly string[]
  /** Folders that were not watched before. */
  readonly opened: ReadonlySet<string>
}

class FileProvider implements ResourceProvider {
  readonly #options: FileProviderOptions
  readonly #kinds
  readonly #reader
  readonly #files
  readonly #writes = new SeenWrites()
  readonly #disks = new FullDisks()
  /** The tree of the last walk. */
  #tree: FileTree | undefined
  #names = new ChangedNames()
  readonly #changed = debounce(() => void this.#refresh(), DEBOUNCE)
  readonly #watcher
  #onChange: (state: ProviderState) => void = () => undefined
  #state: ProviderState | undefined
  #treeProblems = ''
  readonly #polled = new Set<string>()
  #running: Promise<void> = Promise.resolve()
  #polling: NodeJS.Timeout | undefined
  #again: NodeJS.Timeout | undefined
  #walk: NodeJS.Timeout | undefined
  #closed = false

  constructor(options: FileProviderOptions) {
    this.#options = options
    this.#kinds = kindsOf(options.apiGroup)
    this.#files = new KnownFiles(options.requirePolicy)
    this.#reader = options.reader ?? readerInPlace(this.#kinds)
    this.#watcher = createFolderWatcher({
      watch: options.watch ?? watch,
      onChange: (event, name, folder) => {
        this.#writes.saw(event, name)
        this.#disks.saw(name, folder)
        this.#names.add(folder, name)
        this.#changed.call()
      },
      onFailure: (folder, code) => this.#poll(folder, code),
    })
  }

  async start(onChange: (state: ProviderState) => void): Promise<void> {
    this.#onChange = onChange
    await this.#refresh()
    if (this.#files.areEmpty() && this.#treeProblems === '[]')
      this.#options.onWarning(`${this.#options.paths.join(', ')}: ${NOTHING_SERVED}`)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#changed.cancel()
    clearInterval(this.#polling)
    clearTimeout(this.#again)
    clearTimeout(this.#walk)
    this.#watcher.close()
    this.#reader.close()
    await this.#running
  }

  /** Runs the rounds one at a time, in order. */
  #refresh(): Promise<void> {
    this.#running = this.#running.then(() => this.#readAll())
    return this.#running
  }

  async #readAll(): Promise<void> {
    if (this.#closed) return
    const names = this.#names
    this.#names = new ChangedNames()
    const round = (await this.#changedFiles(names)) ?? (await this.#allFiles())
    const settled = this.#settle(round.found)
    for (const path of round.gone) this.#files.delete(path)
    const isOther = await this.#readFiles(round)
    if (this.#closed) return
    await this.#report(settled || round.gone.length > 0 || isOther)
    for (const seen of [this.#writes, this.#disks]) seen.forgetOld()
    if (!this.#closed) this.#lookAgain()
  }

  /** Reads the files that changed. Returns whether the content of any of them is different now. */
  async #readFiles({ found, opened }: Round): Promise<boolean> {
    const unknown = found.filter((file) => !this.#isKnown(file))
    const next = unknown.values()
    let isOther = false
    const readSome = async (): Promise<void> => {
      for (const file of next) if (!this.#closed && (await this.#read(file, opened))) isOther = true
    }
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, unknown.length) }, readSome))
    return isOther
  }

  /** Looks at the reported names and the restless files; undefined if everything must be looked at. */
  async #changedFiles(names: ChangedNames): Promise<Round | undefined> {
    if (this.#tree === undefined) return undefined
    for (const { folder, name } of this.#files.restless()) names.add(folder, name)
    const look = await lookAgain(this.#tree, names, (path) => this.#files.has(path))
    if (look === undefined) return undefined
    if (this.#files.size + look.found.length > (this.#options.maxFiles ?? MAX_FILES))
      return undefined
    this.#walk ??= setTimeout(() => this.#walkAgain(), this.#options.walkAfter ?? WALK_AFTER)
    return { ...look, opened: new Set() }
  }

  async #allFiles(): Promise<Round> {
    clearTimeout(this.#walk)
    this.#walk = undefined
    const { paths, maxFiles } = this.#options
    const isFirst = this.#tree === undefined
    const watch = async (folders: WatchedFolders): Promise<readonly string[]> =>
      this.#closed ? [] : this.#watcher.update(folders)
    const { tree, opened } = await walkWatched({ paths, maxFiles, isFirst, watch })
    this.#tree = tree
    return { found: tree.files, gone: this.#files.missing(tree), opened }
  }

  /** Schedules a look at what no watcher reports: files that become quiet or stay empty, and "too many open files". */
  #lookAgain(): void {
    const now = performance.now()
    const waits = this.#files
      .restless()
      .flatMap(({ file: { record, emptySince, writing } }) => [
        ...(record.unread === true ? [POLL_INTERVAL] : []),
        ...(emptySince === undefined ? [] : [EMPTY_FOR]),
        ...(writing === undefined ? [] : [Math.max(0, writing.since + QUIET_MS - now)]),
      ])
    clearTimeout(this.#again)
    const wait = Math.min(...waits, this.#tree?.unread === true ? POLL_INTERVAL : Infinity)
    if (wait !== Infinity) this.#again = setTimeout(() => void this.#refresh(), wait)
  }

  #isKnown({ path, stamp }: FoundFile): boolean {
    const before = this.#files.get(path)
    return (
      before?.stamp === stamp &&
      before.emptySince === undefined &&
      before.record.unread === undefined
    )
  }

  /** Puts the content of files that have been quiet for long enough into force. Returns whether there were any. */
  #settle(found: readonly FoundFile[]): boolean {
    const restless = this.#files.restless()
    if (restless.length === 0) return false
    const oldest = performance.now() - QUIET_MS
    const stamps = new Map(found.map(({ path, stamp }) => [path, stamp]))
    const quiet = restless.filter(
      ({ path, file: { writing, stamp } }) =>
        writing !== undefined && writing.since <= oldest && stamps.get(path) === stamp,
    )
    for (const { path, file } of quiet) this.#files.set(path, { ...file, writing: undefined })
    return quiet.length > 0
  }

  async #read(file: FoundFile, opened: ReadonlySet<string>): Promise<boolean> {
    const { path, stamp, inode } = file
    const before = this.#files.get(path)
    const inForce = this.#state?.resources
    const last = before && (await runInTurns(this.#files.lastGood(path, before, inForce)))
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
    before: KnownFile | undefined,
    opened: ReadonlySet<string>,
  ): Promise<Writing | undefined> {
    if (!(await this.#isWrittenInPlace(file, before, opened))) return undefined
    const isOlder = before?.stamp === file.stamp && before.writing !== undefined
    return {
      before: before?.writing?.before ?? before?.record ?? EMPTY_RECORD,
      since: isOlder ? before.writing.since : await this.#disks.writtenSince(file.path, file.name),
    }
  }

  /** Whether the file was written in place rather than renamed into place. Files at startup count as complete. */
  async #isWrittenInPlace(
    file: FoundFile,
    before: KnownFile | undefined,
    opened: ReadonlySet<string>,
  ): Promise<boolean> {
    if (this.#state === undefined) return false
    if (before?.inode === file.inode) return true
    // The event of a write that preceded our read is already queued; the next turns of the event loop deliver it.
    await turn()
    await turn()
    if (this.#writes.has(file.name)) return true
    const folder = dirname(resolve(file.path))
    const isWatched = this.#watcher.watches(folder) && !opened.has(folder)
    if (isWatched || (file.isLink && before !== undefined)) return false
    return Date.now() - file.writtenAt < QUIET_MS
  }

  async #report(changed: boolean): Promise<void> {
    const problems = this.#tree?.problems ?? []
    const treeProblems = JSON.stringify(problems)
    if (!changed && this.#state !== undefined && treeProblems === this.#treeProblems) return
    this.#treeProblems = treeProblems
    const work = this.#files.stateWork(problems, this.#state?.resources)
    const state = await runInTurns(holdBackNewRoutes(await runInTurns(work), this.#state))
    if (this.#closed) return
    this.#state = state
    this.#onChange(state)
  }

  #poll(folder: string, code: string): void {
    if (this.#closed) return
    if (!this.#polled.has(folder))
      this.#options.onWarning(`${folder} cannot be watched (${code}): it is polled instead`)
    this.#polled.add(folder)
    this.#polling ??= setInterval(() => this.#walkAgain(), POLL_INTERVAL)
  }

  #walkAgain(): void {
    this.#names.needsWalk = true
    void this.#refresh()
  }
}

// Tracks, from watcher events, which files are written in place rather than renamed into place.

/** Exceeds the longest delay between an event and the resulting look at the file, in milliseconds. */
const REMEMBERED_MS = 10_000

/** Files written in place, by name alone, as a link and its target are in different folders. */
class SeenWrites {
  readonly #written = new Map<string, number>()
  #anyUntil = 0

  /** Records an event: "rename" (new, moved or gone) or "change" (written to); name is null if the system has none. */
  saw(event: string, name: string | null): void {
    const now = performance.now()
    if (name === null) this.#anyUntil = now + REMEMBERED_MS
    else if (event === 'change') this.#written.set(name, now)
    else this.#written.delete(name)
  }

  /** Whether the file may have been written to since it was created or renamed. */
  has(name: string): boolean {
    const at = this.#written.get(name)
    return performance.now() < Math.max(this.#anyUntil, (at ?? -Infinity) + REMEMBERED_MS)
  }

  forgetOld(): void {
    const oldest = performance.now() - REMEMBERED_MS
    for (const [name, at] of this.#written) if (at < oldest) this.#written.delete(name)
  }
}

// Walks the paths that a user named until every folder there is watched, so no change during a walk is missed.

/** The walk, and the folders that were not watched before. */
export interface WatchedTree {
  readonly tree: FileTree
  readonly opened: ReadonlySet<string>
}

/** Where to walk, and how. */
export interface WalkOptions {
  readonly paths: readonly string[]
  /** As in FileProviderOptions. */
  readonly maxFiles?: number | undefined
  /** Whether no folder is watched yet. */
  readonly isFirst: boolean
  /** Watches exactly these folders; returns those that were not watched before. */
  readonly watch: (folders: WatchedFolders) => Promise<readonly string[]>
}

/** Maximum number of walks. A tree that still grows is walked again at the next watcher event. */
const MAX_LOOKS = 10

/** Walks, and again while there are new folders. The first of all walks looks for folders alone, as it is never the last. */
async function walkWatched(options: WalkOptions): Promise<WatchedTree> {
  const { paths, maxFiles, isFirst, watch } = options
  const opened = new Set<string>(isFirst ? await watch(await findFolders(paths)) : [])
  for (let looks = 1; ; looks++) {
    const tree = await findFiles(paths, maxFiles)
    const more = await watch(tree.folders)
    for (const folder of more) opened.add(folder)
    if (more.length === 0 || looks === MAX_LOOKS) return { tree, opened }
  }
}

// Turns the names reported by watchers into changed files, without walking thousands of others.

/** The names that watchers reported since the last look. */
class ChangedNames {
  /** Changed names, by folder. */
  readonly names = new Map<string, Set<string>>()
  /** Whether looking at the names alone is not enough. */
  needsWalk = false

  /** Adds a reported name; null if the system does not report which. */
  add(folder: string, name: string | null): void {
    if (name === null) this.needsWalk = true
    else this.names.set(folder, (this.names.get(folder) ?? new Set()).add(name))
    if ((this.names.get(folder)?.size ?? 0) > MOST) this.needsWalk = true
  }
}

/** Maximum number of names per folder. Above that a walk is faster, and the system may have dropped events. */
const MOST = 64

/** The result of looking at some names. */
export interface Look {
  /** Files that exist and may have changed. */
  readonly found: readonly FoundFile[]
  /** Paths of files that were read before and no longer exist. */
  readonly gone: readonly string[]
}

/**
 * Looks at the changed names; undefined if a walk is needed. tree is that of the last walk; isKnown says whether the
 * file at a path was read before.
 */
async function lookAgain(
  tree: FileTree,
  changed: ChangedNames,
  isKnown: (path: string) => boolean,
): Promise<Look | undefined> {
  if (changed.needsWalk || tree.unread || tree.problems.length > 0) return undefined
  const found: FoundFile[] = []
  const gone: string[] = []
  for (const [folder, names] of changed.names)
    for (const name of names) {
      const seen = await lookAtName(tree, folder, name)
      if (seen === undefined) return undefined
      if (seen.file !== undefined) found.push(seen.file)
      else if (isKnown(seen.path)) gone.push(seen.path)
    }
  return { found, gone }
}

interface Seen {
  /** The path, beginning as the user wrote it. */
  readonly path: string
  /** The resource file at the path, if there is one. */
  readonly file?: FoundFile
}

/** Looks at one name; undefined if it is or was more than a file (a folder, a link), so a walk is needed. */
async function lookAtName(tree: FileTree, folder: string, name: string): Promise<Seen | undefined> {
  const walked = tree.walked.get(folder)
  const place = join(folder, name)
  const isFolder = name === basename(folder) || tree.folders.has(place)
  if (walked === undefined || isFolder || tree.turns.has(place)) return undefined
  const path = join(walked, name)
  if (name.startsWith('.')) return { path }
  try {
    const stats = await lstat(path, { bigint: true })
    if (stats.isDirectory() || stats.isSymbolicLink()) return undefined
    return stats.isFile() && isResourceFile(path)
      ? { path, file: foundFile(path, stats) }
      : { path }
  } catch (error) {
    return fileErrorCode(error) === 'ENOENT' ? { path } : undefined
  }
}
