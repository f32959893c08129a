// Files and folders → the resources in them, once: what `check` and `translate` read.

import { readFile } from 'node:fs/promises'
import {
  brokenFile,
  decodeFile,
  EMPTY_RECORD,
  MAX_FILE_BYTES,
  type FileRecord,
} from './file-record.js'
import { codeOf, findFiles, type FoundFile } from './file-tree.js'
import type { ReadState, Unsettled } from '../decode/quarantine.js'
import { kindsOf, type Kind } from '../kinds/kinds.js'
import { collectResources } from '../decode/resource-set.js'
import type { Problem, ProviderState } from '../kinds/resources.js'

/** paths: files, or folders that are read with all below them. Never rejects: what cannot be read is a problem. */
export const loadResources = async (
  paths: readonly string[],
  { apiGroup }: { readonly apiGroup: string },
): Promise<ProviderState> => {
  const kinds = kindsOf(apiGroup)
  const tree = await findFiles(paths)
  const records: FileRecord[] = []
  for (const file of tree.files) records.push(await readRecord(file, kinds))
  return stateOf(records, tree.problems)
}

export const readRecord = async (
  { path, size }: FoundFile,
  kinds: readonly Kind[],
  previous = EMPTY_RECORD,
): Promise<FileRecord> => {
  if (size > MAX_FILE_BYTES)
    return brokenFile(path, `is larger than ${MAX_FILE_BYTES} bytes`, previous)
  try {
    return decodeFile(await readFile(path), path, kinds, previous)
  } catch (error) {
    return { ...brokenFile(path, `cannot be read: ${codeOf(error)}`, previous), unread: true }
  }
}

/** records: in path order. */
export const stateOf = (
  records: readonly FileRecord[],
  problems: readonly Problem[],
  unsettled: readonly Unsettled[] = [],
): ReadState => {
  const collected = collectResources(records.flatMap(({ resources }) => resources))
  const undecoded = records.flatMap((record) => record.undecoded)
  return {
    resources: collected.resources,
    problems: [...problems, ...records.flatMap((record) => record.problems), ...collected.problems],
    notes: records.flatMap(({ notes }) => notes),
    complete: problems.length === 0 && undecoded.length === 0 && unsettled.length === 0,
    undecoded,
    unsettled,
  }
}
