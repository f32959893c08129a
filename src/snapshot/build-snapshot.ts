// Ir → everything that is published of it: the servers' tables and the encoded xDS. Pure but for remembering.

import { type AuthzTable, buildAuthzTable } from '../extauthz/authz-table.js'
import { buildProcTable, type ProcTable } from '../extproc/proc-table.js'
import type { Ir } from '../ir/ir.js'
import type { XdsSnapshot } from '../xds/server/snapshot-cache.js'
import { XdsBuilder } from '../xds/translator/build-xds.js'
import type { XdsByNode, XdsOptions } from '../xds/translator/xds-resources.js'
import { groupXds } from './group-xds.js'
import { revisionOf } from './revision.js'

export interface Snapshot {
  /** Hash of the content: equal revision, equal snapshot. */
  readonly revision: string
  readonly ir: Ir
  /** What was translated, for the config dump. */
  readonly resources: XdsByNode
  /** It made the resources, and takes over for the next snapshot what does not change. */
  readonly xdsBuilder: XdsBuilder
  /** The same as the servers need it. */
  readonly xds: XdsSnapshot
  readonly authzTable: AuthzTable
  readonly procTable: ProcTable
}

/** An equal Ir gives back previous itself. Throws (XdsBuilder) when there is a bug in the translation. */
export function buildSnapshot(
  ir: Ir,
  options: XdsOptions,
  previous?: Snapshot,
  rememberedTokens?: number,
): Snapshot {
  const revision = revisionOf(ir)
  if (revision === previous?.revision) return previous
  const authzTable = buildAuthzTable(ir.authz, previous?.authzTable, rememberedTokens)
  const xdsBuilder = builderFor(options, previous)
  const resources = xdsBuilder.build(ir)
  const xds = resources === previous?.resources ? previous.xds : groupXds(resources, previous?.xds)
  const procTable = buildProcTable(ir.proc, previous?.procTable)
  return { revision, ir, resources, xdsBuilder, xds, authzTable, procTable }
}

function builderFor(options: XdsOptions, previous: Snapshot | undefined): XdsBuilder {
  const known = previous?.xdsBuilder
  const isFit = known !== undefined && JSON.stringify(known.options) === JSON.stringify(options)
  return isFit ? known : new XdsBuilder(options)
}
