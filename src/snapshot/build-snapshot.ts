// Builds everything to publish from the Ir, in slices: the servers' tables and the encoded xDS. Pure, except for
// memoisation.

import { type AuthzTable, authzTableWork } from '../extauthz/authz-table.js'
import { type ProcTable, procTableWork } from '../extproc/proc-table.js'
import type { Ir } from '../ir/ir.js'
import { atOnce, type Work } from '../turns.js'
import type { XdsSnapshot } from '../xds/server/snapshot-cache.js'
import { XdsBuilder } from '../xds/translator/build-xds.js'
import type { XdsByNode, XdsOptions } from '../xds/translator/xds-resources.js'
import { createGroupXds, type GroupXds } from './group-xds.js'
import { createRevisionOf, type RevisionOf } from './revision.js'

/** Everything that is published together. */
export interface Snapshot {
  /** Hash of the content: equal revisions mean equal snapshots. */
  readonly revision: string
  readonly ir: Ir
  /** The translated resources, for the config dump. */
  readonly resources: XdsByNode
  /** What it was built with, which reuses unchanged parts for the next snapshot. */
  readonly builders: Builders
  /** The resources in the form that the ADS server needs. */
  readonly xds: XdsSnapshot
  readonly authzTable: AuthzTable
  readonly procTable: ProcTable
}

/** Parts of the build that keep results from snapshot to snapshot. */
interface Builders {
  readonly revisionOf: RevisionOf
  readonly xds: XdsBuilder
  readonly groupXds: GroupXds
}

/** Returns previous itself for an equal Ir. Throws (in XdsBuilder) on a bug in the translation. */
export function* snapshotWork(
  ir: Ir,
  options: XdsOptions,
  previous?: Snapshot,
  rememberedTokens?: number,
): Work<Snapshot> {
  const builders = buildersFor(options, previous)
  const revision = yield* builders.revisionOf(ir)
  if (revision === previous?.revision) return previous
  const authzTable = yield* authzTableWork(ir.authz, previous?.authzTable, rememberedTokens)
  const resources = yield* builders.xds.build(ir)
  const isSame = resources === previous?.resources
  const xds = isSame ? previous.xds : yield* builders.groupXds(resources, previous?.xds)
  const procTable = yield* procTableWork(ir.proc, previous?.procTable)
  return { revision, ir, resources, builders, xds, authzTable, procTable }
}

/** Like snapshotWork(), at once. */
export const buildSnapshot = (...inputs: Parameters<typeof snapshotWork>): Snapshot =>
  atOnce(snapshotWork(...inputs))

function buildersFor(options: XdsOptions, previous: Snapshot | undefined): Builders {
  const known = previous?.builders
  if (known === undefined)
    return {
      revisionOf: createRevisionOf(),
      xds: new XdsBuilder(options),
      groupXds: createGroupXds(),
    }
  const isFit = JSON.stringify(known.xds.options) === JSON.stringify(options)
  return isFit ? known : { ...known, xds: new XdsBuilder(options) }
}
