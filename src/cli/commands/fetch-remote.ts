// Fetches the documents that a translation wants, once, for commands with --fetch.

import { systemCaFile } from '../../control/fetch/system-ca-file.js'
import { callRules, tenancyOf } from '../../control/fetch/tenancy.js'
import { createTlsLanes } from '../../kit/http/connect/tls-lanes.js'
import { fetchDocument } from '../../kit/http/fetch-document.js'
import { createCallRemote, systemLookup } from '../../kit/http/http-call.js'
import { createLimit } from '../../kit/http/limit.js'
import type { RemoteDocument, RemoteState, WantedDocument } from '../../model/remote-target.js'
import type { Settings } from '../../ops/settings/settings.js'

const CONCURRENT = 32

/** Never rejects: a document that cannot be fetched has an error. stop: aborts all fetches. */
export async function fetchRemote(
  wanted: readonly WantedDocument[],
  settings: Settings,
  stop: AbortSignal,
): Promise<RemoteState> {
  const limit = createLimit(CONCURRENT)
  const callRemote = createCallRemote({
    lookup: systemLookup,
    connectTls: createTlsLanes({ caFile: systemCaFile(settings.environment) }).usual,
    addresses: callRules(tenancyOf(settings), settings.allowAddress, () => []),
  })
  const fetched = await Promise.all(
    wanted.map((each) =>
      limit(async (): Promise<[string, RemoteDocument]> => {
        const result = await fetchDocument(each, callRemote, stop)
        if (!result.ok) return [each.id, { error: result.error }]
        const { document, isOpenToPages } = result.value
        const pages = isOpenToPages === undefined ? {} : { isOpenToPages }
        return [each.id, { document, fetchedAt: Date.now(), ...pages }]
      }),
    ),
  )
  return new Map(fetched)
}
