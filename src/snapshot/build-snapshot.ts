// Ir → everything that is published of it: the servers' tables and the encoded xDS. Pure but for remembering.

import { buildAuthzTable, type AuthzTable, type CompiledEntry } from '../extauthz/authz-table.js'
import { buildProcTable, type ProcTable } from '../extproc/proc-table.js'
import type { Ir } from '../ir/ir.js'
import type { XdsSnapshot } from '../xds/snapshot-cache.js'
import { buildXds } from '../xds/translator/build-xds.js'
import type { XdsOptions } from '../xds/translator/xds-options.js'
import type { XdsByNode } from '../xds/translator/xds-resources.js'
import { encodeXds } from './encode-xds.js'
import { revisionOf } from './revision.js'

export interface Snapshot {
  /** Hash of the content: equal revision, equal snapshot. */
  readonly revision: string
  readonly ir: Ir
  /** As JSON, for the config dump. */
  readonly xdsJson: XdsByNode
  readonly xds: XdsSnapshot
  readonly authzTable: AuthzTable
  readonly procTable: ProcTable
  /** What Envoy sends to ext_authz beside what it always sends; lower-case, sorted. */
  readonly headersRead: HeadersRead
}

type HeadersRead = XdsOptions['headersRead']

/** headersRead is found here: in the rules. */
export type SnapshotOptions = Omit<XdsOptions, 'headersRead'>

/** An equal Ir gives back previous itself. Throws (buildXds, encodeResource) when there is a bug in the translation. */
export function buildSnapshot(ir: Ir, options: SnapshotOptions, previous?: Snapshot): Snapshot {
  const revision = revisionOf(ir)
  if (revision === previous?.revision) return previous
  const authzTable = buildAuthzTable(ir.authz, previous?.authzTable)
  const headersRead = grown(previous?.headersRead ?? [], headersReadBy(authzTable.compiled.fresh))
  const xdsJson = buildXds(ir, { ...options, headersRead })
  const xds = xdsJson === previous?.xdsJson ? previous.xds : encodeXds(xdsJson, previous?.xds)
  const procTable = buildProcTable(ir.proc, previous?.procTable)
  return { revision, ir, xdsJson, xds, authzTable, procTable, headersRead }
}

/**
 * The list stands in the listener, and a listener that changes closes its connections, event streams among them. So a
 * header that no rule reads any more stays in it as long as the process lives.
 */
function grown(before: HeadersRead, now: HeadersRead): HeadersRead {
  if (before === 'all' || now === 'all') return 'all'
  return [...new Set([...before, ...now])].sort()
}

function headersReadBy(entries: readonly CompiledEntry[]): HeadersRead {
  const names = new Set<string>()
  for (const { rules } of entries) {
    if (rules === undefined) continue
    for (const { reads } of [...rules.deny, ...rules.require, ...rules.allow]) {
      if (reads.requestHeaders === 'all') return 'all'
      for (const name of reads.requestHeaders) names.add(name)
    }
  }
  return [...names]
}
