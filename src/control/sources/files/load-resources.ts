// Loads the resources of files and folders once, for `check` and `translate`.

import { compareText } from '../../../kit/incremental/sorted-list.js'
import type { ReadState, Unsettled } from '../../schema/decode/quarantine.js'
import { type CollectedResources, collectResources } from '../../schema/decode/resource-set.js'
import { kindsOf } from '../../schema/kinds/kinds.js'
import type { Problem, ProviderState, Resource } from '../../schema/kinds/resources.js'
import { type FileRecord, recordOf } from './file-record.js'
import { findFiles } from './file-tree.js'
import { readDocuments } from './read-documents.js'

/** The resources of files, and where each begins. */
export interface LoadedState extends ProviderState {
  /** FILE:LINE:COLUMN by resource. */
  readonly positions: ReadonlyMap<Resource<unknown>, string>
}

/** Loads files, and folders recursively. Never rejects: a path that cannot be read becomes a problem. */
export async function loadResources(
  paths: readonly string[],
  { apiGroup }: { readonly apiGroup: string },
): Promise<LoadedState> {
  const kinds = kindsOf(apiGroup)
  const tree = await findFiles(paths)
  const records: FileRecord[] = []
  for (const file of tree.files.toSorted((a, b) => compareText(a.path, b.path)))
    records.push(recordOf(readDocuments(file, kinds, new Map()), file.path, kinds))
  const decoded = records.flatMap(({ resources }) => resources)
  return {
    ...stateOf(records, collectResources(decoded), tree.problems),
    positions: new Map(decoded.map(({ resource, position }) => [resource, position])),
  }
}

/** Builds the state. records, in path order, may omit those without problems or notes; collected has all resources. */
export function stateOf(
  records: readonly FileRecord[],
  collected: CollectedResources,
  problems: readonly Problem[],
  unsettled: readonly Unsettled[] = [],
): ReadState {
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
