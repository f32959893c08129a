// Walks the paths that a user named until every folder there is watched, so no change during a walk is missed.

import { type FileTree, findFiles, findFolders } from './file-tree.js'
import type { WatchedFolders } from './folder-watcher.js'

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
export async function walkWatched(options: WalkOptions): Promise<WatchedTree> {
  const { paths, maxFiles, isFirst, watch } = options
  const opened = new Set<string>(isFirst ? await watch(await findFolders(paths)) : [])
  for (let looks = 1; ; looks++) {
    const tree = await findFiles(paths, maxFiles)
    const more = await watch(tree.folders)
    for (const folder of more) opened.add(folder)
    if (more.length === 0 || looks === MAX_LOOKS) return { tree, opened }
  }
}
