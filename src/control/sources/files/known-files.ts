// The files read so far and what of them is in force. The cost of an update depends only on the files that change.

import { basename, dirname, resolve } from 'node:path'
import { compareText } from '../../../kit/incremental/sorted-list.js'
import { each, mapEach, type Work } from '../../../kit/turns.js'
import type { ReadState } from '../../schema/decode/quarantine.js'
import { createResourceCollector } from '../../schema/decode/resource-set.js'
import type { Problem, Resources } from '../../schema/kinds/resources.js'
import type { FileRecord } from './file-record.js'
import type { FileTree } from './file-tree.js'
import { stateOf } from './load-resources.js'
import {
  doubtOf,
  IndexedPolicies,
  inForceOf,
  NO_POLICIES,
  type PoliciesInForce,
} from './unsettled.js'

/** A file as last read. */
export interface KnownFile {
  /** As FoundFile.stamp. */
  readonly stamp: string
  /** As FoundFile.inode. */
  readonly inode: string
  readonly record: FileRecord
  /** Set while the file has been written in place and was not quiet since. */
  readonly writing?: Writing | undefined
  /** performance.now() when it was first seen empty; its previous content still counts. */
  readonly emptySince?: number
}

/** A file that is being written in place. */
export interface Writing {
  /** Content of the file when it was last quiet. */
  readonly before: FileRecord
  /** performance.now() when its last change was seen; Infinity: its disk was full, so it must be written again. */
  readonly since: number
}

/** A file that must be looked at again as time passes, even without an event. */
export interface RestlessFile {
  readonly path: string
  readonly file: KnownFile
  /** Absolute path of its folder. */
  readonly folder: string
  readonly name: string
}

/** All files that were read. */
export class KnownFiles {
  readonly #files = new Map<string, KnownFile>()
  readonly #restless = new Set<string>()
  /** Records with problems, notes or undecoded documents, by path. */
  readonly #remarks = new Map<string, FileRecord>()
  readonly #collector = createResourceCollector()
  readonly #policies
  #documents = 0

  constructor(requirePolicy = false) {
    this.#policies = new IndexedPolicies(requirePolicy)
  }

  get size(): number {
    return this.#files.size
  }

  has(path: string): boolean {
    return this.#files.has(path)
  }

  get(path: string): KnownFile | undefined {
    return this.#files.get(path)
  }

  /** Returns the paths of files that are gone. Files below a folder that is lost as a whole (unmounted) are kept. */
  missing({ files, lost }: FileTree): readonly string[] {
    const present = new Set(files.map(({ path }) => path))
    const isLost = (path: string): boolean => lost.some((folder) => isAtOrBelow(path, folder))
    return [...this.#files.keys()].filter((path) => !present.has(path) && !isLost(path))
  }

  /** Whether none of the files has a document. */
  areEmpty(): boolean {
    return this.#documents === 0
  }

  set(path: string, file: KnownFile): void {
    this.#documents += file.record.documents.size - this.#documentsOf(path)
    this.#files.set(path, file)
    const { record, writing, emptySince } = file
    if (record.unread === true || writing !== undefined || emptySince !== undefined)
      this.#restless.add(path)
    else this.#restless.delete(path)
    if (writing === undefined) this.#count(path, record)
  }

  delete(path: string): void {
    this.#documents -= this.#documentsOf(path)
    this.#files.delete(path)
    this.#restless.delete(path)
    this.#remarks.delete(path)
    this.#collector.put(path, [])
  }

  restless(): readonly RestlessFile[] {
    return [...this.#restless].flatMap((path) => {
      const file = this.#files.get(path)
      const place = resolve(path)
      return file === undefined
        ? []
        : [{ path, file, folder: dirname(place), name: basename(place) }]
    })
  }

  /** Returns what stays in force of the file if one of its documents is broken. resources: those in force. */
  *lastGood(path: string, file: KnownFile, resources: Resources | undefined): Work<FileRecord> {
    if (file.writing === undefined) return file.record
    const policies = yield* this.#policies.of(resources)
    return { ...file.record, resources: inForce(path, file, policies).resources }
  }

  /** Returns the state of all files. problems: those of the folders. resources: those in force. */
  *stateWork(problems: readonly Problem[], resources: Resources | undefined): Work<ReadState> {
    const policies = this.#areWritten() ? yield* this.#policies.of(resources) : NO_POLICIES
    const written = [...this.#restless].sort(compareText).flatMap((path) => {
      const file = this.#files.get(path)
      return file === undefined ? [] : [{ path, file }]
    })
    yield* each(written, ({ path, file }) => this.#count(path, inForce(path, file, policies)))
    const unsettled = yield* mapEach(
      written,
      ({ path, file: { record, writing } }) =>
        (writing && doubtOf({ path, ...writing, now: record })) ?? [],
    )
    const remarks = [...this.#remarks].sort(([a], [b]) => compareText(a, b))
    const records = remarks.map(([, record]) => record)
    yield
    const collected = yield* this.#collector.collectedWork()
    return stateOf(records, collected, problems, unsettled.flat())
  }

  #areWritten(): boolean {
    for (const path of this.#restless) if (this.#files.get(path)?.writing !== undefined) return true
    return false
  }

  #count(path: string, record: FileRecord): void {
    const { problems, notes, undecoded } = record
    if (problems.length + notes.length + undecoded.length > 0) this.#remarks.set(path, record)
    else this.#remarks.delete(path)
    this.#collector.put(path, record.resources)
  }

  #documentsOf(path: string): number {
    return this.#files.get(path)?.record.documents.size ?? 0
  }
}

/** Whether a file that had resources is now empty; most likely it is being written at this moment. */
export const wasEmptied = (
  record: FileRecord,
  before: KnownFile | undefined,
): before is KnownFile =>
  record.documents.size === 0 && before !== undefined && before.record.resources.length > 0

const inForce = (
  path: string,
  { record, writing }: KnownFile,
  policies: PoliciesInForce,
): FileRecord =>
  writing === undefined ? record : inForceOf({ path, ...writing, now: record, policies })

const isAtOrBelow = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`)
