// Watches folders and reports every change of a relevant name in them.

import type { FSWatcher } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { fileErrorCode } from './file-tree.js'

/** The relevant names in each folder; undefined means all. */
export type WatchedFolders = ReadonlyMap<string, ReadonlySet<string> | undefined>

/** Watches one folder. */
export type WatchFolder = (folder: string) => FSWatcher

/** What a watcher is created with. */
export interface FolderWatcherOptions {
  /** The watch function of node:fs. */
  readonly watch: WatchFolder
  /**
   * Called for a change, with event and name as in node:fs. folder is the watched folder; name may be that of the
   * folder itself.
   */
  readonly onChange: (event: string, name: string | null, folder: string) => void
  /** Called with the system's error code when a folder cannot be watched or its watcher fails. */
  readonly onFailure: (folder: string, code: string) => void
}

/** Watches folders. */
export interface FolderWatcher {
  /**
   * Watches exactly these folders; a folder replaced by another of the same name is watched anew. Returns those newly
   * watched, where a change may have been missed.
   */
  update(folders: WatchedFolders): Promise<readonly string[]>
  watches(folder: string): boolean
  close(): void
}

interface Watched {
  readonly watcher: FSWatcher
  /** Device and inode: a watcher stays with the folder that it was opened on, even if that is moved. */
  readonly identity: string
  names: ReadonlySet<string> | undefined
}

/** Creates a watcher of no folder. */
export function createFolderWatcher({
  watch,
  onChange,
  onFailure,
}: FolderWatcherOptions): FolderWatcher {
  const watched = new Map<string, Watched>()

  const stop = (folder: string) => {
    watched.get(folder)?.watcher.close()
    watched.delete(folder)
  }

  const open = (
    folder: string,
    identity: string,
    names: ReadonlySet<string> | undefined,
  ): boolean => {
    try {
      const watcher = watch(folder)
      const entry: Watched = { watcher, identity, names }
      watched.set(folder, entry)
      watcher.on('change', (event, name) => {
        if (name === null) onChange(event, null, folder)
        else if (concerns(String(name), folder, entry.names)) onChange(event, String(name), folder)
      })
      watcher.on('error', (error) => {
        stop(folder)
        onFailure(folder, fileErrorCode(error))
      })
      return true
    } catch (error) {
      onFailure(folder, fileErrorCode(error))
      return false
    }
  }

  return {
    async update(folders) {
      for (const folder of [...watched.keys()]) if (!folders.has(folder)) stop(folder)
      const opened: string[] = []
      for (const [folder, names] of folders) {
        const identity = await identityOf(folder)
        const before = watched.get(folder)
        if (before !== undefined && before.identity === identity) before.names = names
        else {
          stop(folder)
          if (identity !== undefined && open(folder, identity, names)) opened.push(folder)
        }
      }
      return opened
    },
    watches: (folder) => watched.has(folder),
    close() {
      for (const folder of [...watched.keys()]) stop(folder)
    },
  }
}

/** Whether an event is relevant. A folder that is itself moved or deleted is reported under its own name. */
const concerns = (name: string, folder: string, names: ReadonlySet<string> | undefined): boolean =>
  names === undefined || names.has(name) || name === basename(folder)

async function identityOf(folder: string): Promise<string | undefined> {
  const found = await stat(folder, { bigint: true }).catch(() => undefined)
  return found === undefined ? undefined : `${found.dev}:${found.ino}`
}
