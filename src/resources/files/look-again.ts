// Names in folders that watchers told of → the files that these changes are about, without a walk through thousands of others.

import { lstat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import {
  fileErrorCode,
  type FileTree,
  type FoundFile,
  foundFile,
  isResourceFile,
} from './file-tree.js'

/** What watchers told of since the last look. */
export class ChangedNames {
  /** By folder. */
  readonly names = new Map<string, Set<string>>()
  /** A look at the names is not enough. */
  needsWalk = false

  /** name: null: the system does not say which. */
  add(folder: string, name: string | null): void {
    if (name === null) this.needsWalk = true
    else this.names.set(folder, (this.names.get(folder) ?? new Set()).add(name))
    if ((this.names.get(folder)?.size ?? 0) > MOST) this.needsWalk = true
  }
}

/** With more a walk is quicker, and the system may have dropped some of them. */
const MOST = 64

export interface Look {
  /** They are there, and may have changed. */
  readonly found: readonly FoundFile[]
  /** Paths of files that were read before. */
  readonly gone: readonly string[]
}

/** tree: of the last walk. isKnown: whether the file of this path was read. undefined: a walk must tell. */
export async function lookAgain(
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
  /** As the user's path begins. */
  readonly path: string
  /** Absent: there is no file of resources at the path. */
  readonly file?: FoundFile
}

/** undefined: it is, or was, more than a file. */
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
