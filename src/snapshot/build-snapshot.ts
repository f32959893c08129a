// Builds everything to publish from the Ir, in slices: the servers' tables and the encoded xDS. Pure, except for
// memoisation.

import { type AuthzTable, authzTableWork } from '../extauthz/authz-table.js'
import { type ProcTable, procTableWork } from '../extproc/proc-table.js'
import type { Ir } from '../ir/ir.js'
import { atOnce, type Work } from '../turns.js'
import type { XdsSnapshot } from '../xds/server/snapshot-cache.js'
import { XdsBuilder } from '../xds/translator/build-xds.js'
import type { XdsByNode, XdsOptions } from '../xds/translator/xds-resources.js'
import { groupXds } from './group-xds.js'
import { revisionOf } from './revision.js'

/** Everything that is published together. */
export interface Snapshot {
  /** Hash of the content: equal revisions mean equal snapshots. */
  readonly revision: string
  readonly ir: Ir
  /** The translated resources, for the config dump. */
  readonly resources: XdsByNode
  /** The builder of the resources, which reuses unchanged parts for the next snapshot. */
  readonly xdsBuilder: XdsBuilder
  /** The resources in the form that the ADS server needs. */
  readonly xds: XdsSnapshot
  readonly authzTable: AuthzTable
  readonly procTable: ProcTable
}

/** Returns previous itself for an equal Ir. Throws (in XdsBuilder) on a bug in the translation. */
export function* snapshotWork(
  ir: Ir,
  options: XdsOptions,
  previous?: Snapshot,
  rememberedTokens?: number,
): Work<Snapshot> {
  const revision = yield* revisionOf(ir)
  if (revision === previous?.revision) return previous
  const authzTable = yield* authzTableWork(ir.authz, previous?.authzTable, rememberedTokens)
  const xdsBuilder = builderFor(options, previous)
  const resources = yield* xdsBuilder.build(ir)
  const isSame = resources === previous?.resources
  const xds = isSame ? previous.xds : yield* groupXds(resources, previous?.xds)
  const procTable = yield* procTableWork(ir.proc, previous?.procTable)
  return { revision, ir, resources, xdsBuilder, xds, authzTable, procTable }
}

/** Like snapshotWork(), at once. */
export const buildSnapshot = (...inputs: Parameters<typeof snapshotWork>): Snapshot =>
  atOnce(snapshotWork(...inputs))

function builderFor(options: XdsOptions, previous: Snapshot | undefined): XdsBuilder {
  const known = previous?.xdsBuilder
  const isFit = known !== undefined && JSON.stringify(known.options) === JSON.stringify(options)
  return isFit ? known : new XdsBuilder(options)
}
