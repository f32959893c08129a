// Walks the paths that a user named and finds the resource files below them and the folders to watch.

import { type BigIntStats, lstat } from 'node:fs'
import { readdir, readlink, realpath, stat } from 'node:fs/promises'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { nextTurn } from '../../../kit/turns.js'
import type { Problem } from '../../schema/kinds/resources.js'

const EXTENSIONS = ['.yaml', '.yml', '.json']
/** Maximum number of files, above which nothing is read. */
export const MAX_FILES = 20_000

/** The files and folders of one walk. */
export interface FileTree {
  /** The files found, in no particular order. */
  readonly files: readonly FoundFile[]
  /** The relevant names in each folder to watch; undefined means all. */
  readonly folders: ReadonlyMap<string, ReadonlySet<string> | undefined>
  readonly problems: readonly Problem[]
  /** Folders and files that cannot be read now, and named folders that do not exist: their content is unknown. */
  readonly lost: readonly string[]
  /** Whether something could not be read. This may pass without a change that a watcher sees. */
  readonly unread: boolean
  /** The folders read: absolute path → the user's path; undefined if two of the user's paths lead there. */
  readonly walked: ReadonlyMap<string, string | undefined>
  /** Absolute paths of named paths, links and what leads to them: a change of one may change anything. */
  readonly turns: ReadonlySet<string>
}

/** A file as found by a walk. */
export interface FoundFile {
  /** The path, beginning as the user wrote it. */
  readonly path: string
  /** A stamp that changes with the content: device, inode, size, times. */
  readonly stamp: string
  /** Device and inode, which writing in place does not change. */
  readonly inode: string
  /** When it was last written, by the clock of its file system, in milliseconds since the epoch. */
  readonly writtenAt: number
  /** The name without its folder; for a link, the name of its final target. */
  readonly name: string
  readonly isLink: boolean
  readonly size: number
}

/**
 * Finds all resource files. Never rejects: a path that cannot be read becomes a problem with that path as its source.
 */
export async function findFiles(paths: readonly string[], maxFiles = MAX_FILES): Promise<FileTree> {
  const walk = new Walk(maxFiles)
  for (const path of paths) await walk.root(path)
  return walk.tree()
}

/** Finds the folders to watch. Takes a fraction of findFiles(), as most systems say what is a file when they list a folder. */
export async function findFolders(paths: readonly string[]): Promise<FileTree['folders']> {
  const walk = new Walk(MAX_FILES, 'folders')
  for (const path of paths) await walk.root(path)
  return walk.tree().folders
}

class Walk {
  readonly #files = new Map<string, FoundFile>()
  readonly #folders = new Map<string, Set<string> | undefined>()
  readonly #problems: Problem[] = []
  readonly #roots: string[] = []
  readonly #lost: string[] = []
  /** Paths whose links have been, or are being, followed. */
  readonly #followed = new Set<string>()
  readonly #walked = new Map<string, string | undefined>()
  readonly #turns = new Set<string>()

  /** @param wanted folders: files are left out, except those that paths or links lead to. */
  constructor(
    readonly maxFiles: number,
    readonly wanted: 'all' | 'folders' = 'all',
  ) {}

  #tooMany(): string {
    return `has more than ${this.maxFiles} files: nothing is read until there are fewer`
  }

  tree(): FileTree {
    const places = { folders: this.#folders, walked: this.#walked, turns: this.#turns }
    const read = { ...places, problems: this.#problems, unread: this.#lost.length > 0 }
    if (this.#files.size > this.maxFiles) {
      for (const root of this.#roots) this.#problem(root, this.#tooMany())
      return { ...read, files: [], lost: this.#roots }
    }
    return { ...read, files: [...this.#files.values()], lost: this.#lost }
  }

  async root(path: string): Promise<void> {
    this.#roots.push(join(path))
    await this.#follow(resolve(path))
    try {
      const found = await stat(path, { bigint: true })
      if (found.isDirectory()) await this.#folder(join(path), [])
      else this.#file(join(path), found, await realpath(path))
    } catch (error) {
      // A named file that does not exist was deleted; a named folder may reappear with all its content.
      const deleted = fileErrorCode(error) === 'ENOENT' && isResourceFile(path)
      if (deleted) this.#problem(path, 'no such file')
      else this.#lose(join(path), lostMessage(error))
    }
  }

  /** Walks a folder. above has the real paths of its parent folders: a link back to one of them ends the walk. */
  async #folder(path: string, above: readonly string[]): Promise<void> {
    try {
      const real = await realpath(path)
      if (above.includes(real)) return
      this.#noteFolder(path)
      const names = (await this.#namesIn(path)).filter((name) => !name.startsWith('.'))
      const below = [...above, real]
      const entered: Promise<void>[] = []
      for (let first = 0; first < names.length; first += SLICE) {
        const some = names.slice(first, first + SLICE).map((name) => join(path, name))
        entered.push(...(await lookAt(some)).flatMap((entry) => this.#entry(entry, below) ?? []))
        await nextTurn()
      }
      await Promise.all(entered)
    } catch (error) {
      if (fileErrorCode(error) !== 'ENOENT' || above.length === 0)
        this.#lose(path, `cannot be read: ${fileErrorCode(error)}`)
    }
  }

  async #namesIn(folder: string): Promise<readonly string[]> {
    if (this.wanted === 'all') return readdir(folder)
    const entries = await readdir(folder, { withFileTypes: true })
    return entries.filter((entry) => !entry.isFile()).map(({ name }) => name)
  }

  #noteFolder(path: string): void {
    const folder = resolve(path)
    this.#folders.set(folder, undefined)
    this.#walked.set(folder, this.#walked.has(folder) ? undefined : path)
  }

  /** Handles one entry. Returns undefined if there is nothing to await, as for nearly all entries. */
  #entry({ path, found, error }: Entry, above: readonly string[]): Promise<void> | undefined {
    if (found === undefined) return this.#missed(path, error)
    if (found.isSymbolicLink()) return this.#link(path, above)
    return this.#place(path, found, above)
  }

  async #link(path: string, above: readonly string[]): Promise<void> {
    try {
      await this.#follow(resolve(path))
      await this.#place(path, await stat(path, { bigint: true }), above, await realpath(path))
    } catch (error) {
      this.#missed(path, error)
    }
  }

  /** Adds a file or walks a folder. Skips pipes, sockets and devices: reading one might block all later changes. */
  #place(
    path: string,
    found: BigIntStats,
    above: readonly string[],
    real = path,
  ): Promise<void> | undefined {
    if (found.isDirectory()) return this.#folder(path, above)
    if (found.isFile() && isResourceFile(path)) this.#file(path, found, real)
    return undefined
  }

  /** A file deleted since the folder was listed is not a problem: the folder's watcher reports it too. */
  #missed(path: string, error: unknown): undefined {
    if (fileErrorCode(error) !== 'ENOENT')
      this.#lose(path, `cannot be read: ${fileErrorCode(error)}`)
  }

  /** Adds a file; real is its path with links resolved. */
  #file(path: string, found: BigIntStats, real: string): void {
    this.#files.set(resolve(path), foundFile(path, found, real))
  }

  /** Watches every place where the path, or a link on the way to it, can be replaced. */
  async #follow(path: string): Promise<void> {
    await this.#watchPlace(path)
    await this.#followLinks(path)
  }

  /** Follows the links of the parent folders as well: `current/config` changes when the link `current` does. */
  async #followLinks(path: string): Promise<void> {
    const above = dirname(path)
    if (above === path || this.#followed.has(path)) return
    this.#followed.add(path)
    await this.#followLinks(above)
    const target = await readlink(path).catch(() => undefined)
    if (target === undefined) return
    await this.#watchPlace(path)
    await this.#follow(resolve(await realpath(above).catch(() => above), target))
  }

  async #watchPlace(path: string): Promise<void> {
    this.#watchName(await nearestFolder(dirname(path)), basename(path))
  }

  #watchName({ folder, inside }: NearestFolder, name: string): void {
    this.#turns.add(join(folder, inside ?? name))
    const names = this.#folders.get(folder)
    if (this.#folders.has(folder) && names === undefined) return
    this.#folders.set(folder, (names ?? new Set()).add(inside ?? name))
  }

  #lose(path: string, message: string): void {
    this.#lost.push(path)
    this.#problem(path, message)
  }

  #problem(path: string, message: string): void {
    this.#problems.push({ source: path, message })
  }
}

interface Entry {
  readonly path: string
  /** Absent if lstat failed; error has the reason. */
  readonly found?: BigIntStats
  readonly error?: unknown
}

/** Describes a file; real is its path with links resolved. */
export function foundFile(path: string, found: BigIntStats, real = path): FoundFile {
  const { dev, ino, size, mtimeNs, ctimeNs, mtimeMs } = found
  return {
    path,
    stamp: `${dev}:${ino}:${size}:${mtimeNs}:${ctimeNs}`,
    inode: `${dev}:${ino}`,
    writtenAt: Number(mtimeMs),
    name: basename(real),
    isLink: basename(real) !== basename(path) || dirname(real) !== dirname(path),
    size: Number(size),
  }
}

/** Whether files with this name are read. */
export const isResourceFile = (path: string): boolean => EXTENSIONS.includes(extname(path))

/** Number of files to lstat before yielding to the event loop, about two milliseconds. */
const SLICE = 256

/** Uses callbacks: for thousands of files, promises cost more than the calls themselves. */
const lookAt = (paths: readonly string[]): Promise<readonly Entry[]> =>
  new Promise((done) => {
    const entries: Entry[] = []
    for (const path of paths)
      lstat(path, { bigint: true }, (error, found) => {
        entries.push(error === null ? { path, found } : { path, error })
        if (entries.length === paths.length) done(entries)
      })
  })

interface NearestFolder {
  readonly folder: string
  /** The first name below folder that does not exist. */
  readonly inside?: string
}

async function nearestFolder(path: string): Promise<NearestFolder> {
  const found = await stat(path).catch(() => undefined)
  if (found?.isDirectory() === true || dirname(path) === path) return { folder: path }
  const above = await nearestFolder(dirname(path))
  return { folder: above.folder, inside: above.inside ?? basename(path) }
}

const lostMessage = (error: unknown): string =>
  fileErrorCode(error) === 'ENOENT'
    ? 'no such file or folder'
    : `cannot be read: ${fileErrorCode(error)}`

/** Returns the code of an error of node:fs, e.g. ENOENT. */
export const fileErrorCode = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
