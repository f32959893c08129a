// Notices that the disk of a file was full when the file changed: it may be cut short for good. Looked at when it is read,
// a moment later, the disk may have room again.

import { stat, statfs } from 'node:fs/promises'

/** What decides whether a disk is full, in blocks. */
export interface DiskSpace {
  readonly bsize: number
  readonly blocks: number
  /** Blocks that any user may fill, and those with what is kept for root. */
  readonly bavail: number
  readonly bfree: number
}

/** How disks and files are looked at; default: by node:fs. */
export interface DiskLook {
  readonly spaceOf: (path: string) => Promise<DiskSpace>
  /** Owner and mode of a file. */
  readonly ownerOf: (path: string) => Promise<{ readonly uid: number; readonly mode: number }>
}

/** Whether a disk is full for users, and for root. */
interface Fullness {
  readonly forUsers: boolean
  readonly forRoot: boolean
}

interface SeenLook extends Fullness {
  /** performance.now() of the look. */
  readonly at: number
}

const ROOM: Fullness = { forUsers: false, forRoot: false }

/** Exceeds the time from a change to the end of the look at the file, in milliseconds. */
const REMEMBERED_MS = 10_000
/** A disk with less room than this, or than this part of a small one, counts as full: a writer may have freed some. */
const [MARGIN, PART] = [1024 * 1024, 16]

/** The looks at the disks of files, one for each folder at a time. */
export class FullDisks {
  readonly #look: DiskLook
  /** The last looks at files, by name and folder, as a link and its target are in different folders. */
  readonly #seen = new Map<string, Map<string, SeenLook>>()
  /** Names that have changed since the current look at their folder began. */
  readonly #changed = new Map<string, Set<string>>()
  readonly #looking = new Map<string, Promise<void>>()

  constructor(look: DiskLook = { spaceOf: (path) => statfs(path), ownerOf: (path) => stat(path) }) {
    this.#look = look
  }

  /** Looks at the disk of a folder at once, as a name in it has changed; null: nobody knows which. */
  saw(name: string | null, folder: string): void {
    const names = this.#changed.get(folder) ?? new Set()
    this.#changed.set(folder, names.add(name ?? ANY))
    if (!this.#looking.has(folder)) this.#looking.set(folder, this.#lookAt(folder))
  }

  /**
   * Returns performance.now(); Infinity if there was no room on the disk of the file at its last change, or is none now:
   * a later write must replace what is there.
   */
  async writtenSince(path: string, name: string): Promise<number> {
    await Promise.all(this.#looking.values())
    const now = await this.#fullness(path)
    const seen = [ANY, name].flatMap((each) => [...(this.#seen.get(each)?.values() ?? [])])
    const all = [now, ...seen]
    if (!all.some(({ forUsers }) => forUsers)) return performance.now()
    const isFull = all.some(({ forRoot }) => forRoot) || !(await this.#isWrittenByRoot(path))
    return isFull ? Infinity : performance.now()
  }

  forgetOld(): void {
    const oldest = performance.now() - REMEMBERED_MS
    for (const [name, folders] of this.#seen) {
      for (const [folder, { at }] of folders) if (at < oldest) folders.delete(folder)
      if (folders.size === 0) this.#seen.delete(name)
    }
  }

  async #lookAt(folder: string): Promise<void> {
    for (let names = this.#changed.get(folder); names !== undefined;) {
      this.#changed.delete(folder)
      const look = { ...(await this.#fullness(folder)), at: performance.now() }
      for (const name of names) {
        const folders = this.#seen.get(name) ?? new Map<string, SeenLook>()
        this.#seen.set(name, folders.set(folder, look))
      }
      names = this.#changed.get(folder)
    }
    this.#looking.delete(folder)
  }

  /** Room if the file system does not say: some count no blocks. */
  async #fullness(path: string): Promise<Fullness> {
    try {
      const { bsize, blocks, bavail, bfree } = await this.#look.spaceOf(path)
      const least = Math.min(MARGIN, (blocks * bsize) / PART)
      return { forUsers: bavail * bsize < least, forRoot: bfree * bsize < least }
    } catch {
      return ROOM
    }
  }

  /** Whether nobody but root may write the file: root may also fill what others may not (5 % of an ext4). */
  async #isWrittenByRoot(path: string): Promise<boolean> {
    try {
      const { uid, mode } = await this.#look.ownerOf(path)
      return uid === 0 && (mode & WRITTEN_BY_OTHERS) === 0
    } catch {
      return false
    }
  }
}

/** The name of changes whose names nobody knows. */
const ANY = ''
/** Bits of a mode: its group and everybody may write. */
const WRITTEN_BY_OTHERS = 0o022
