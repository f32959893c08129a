// Turns the names reported by watchers into changed files, without walking thousands of others.

import { lstat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import {
  fileErrorCode,
  type FileTree,
  type FoundFile,
  foundFile,
  isResourceFile,
} from './file-tree.js'

/** The names that watchers reported since the last look. */
export class ChangedNames {
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
