// Answers a request for one of the metadata documents (decisions 9, 10 and 13).

import type { JsonObject } from '../../ir/json.js'
import type { WellKnownEntry } from '../../ir/proc-entry.js'
import { baseUrl } from '../../oauth/base-url.js'
import { buildRelayMetadata } from '../../oauth/relay/metadata.js'
import { buildResourceMetadata } from '../../oauth/resource-metadata.js'
import { buildServerMetadata } from '../../oauth/server-metadata.js'
import { errorReply, jsonReply, type Reply } from '../stream/immediate-response.js'
import type { RequestView } from '../stream/request-view.js'

const RETRY_AFTER_SECONDS = '5'

/** Returns a metadata document. */
export function metadataReply(
  document: 'resource-metadata' | 'server-metadata',
  entry: WellKnownEntry,
  request: RequestView,
): Reply {
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return errorReply(
      405,
      ['invalid_request', 'metadata is read with GET'],
      'gatehouse_metadata_method',
      { allow: 'GET, HEAD' },
    )
  const base = baseUrl(entry.paths, request.address)
  if (base === undefined)
    return errorReply(
      400,
      ['invalid_request', 'the host of the request cannot be published'],
      'gatehouse_metadata_host',
    )
  const body = documentOf(document, entry, base)
  if (body === undefined)
    return errorReply(
      503,
      ['temporarily_unavailable', 'the identity provider has not been reached yet'],
      'gatehouse_metadata_unavailable',
      { 'retry-after': RETRY_AFTER_SECONDS },
    )
  // HEAD gets a body too: Envoy removes it, but without one it would also leave out content-type.
  return jsonReply(200, body, 'gatehouse_metadata', {
    'cache-control': 'no-cache',
    ...(entry.paths.origin === undefined ? { vary: 'x-forwarded-proto' } : {}),
  })
}

const documentOf = (
  document: 'resource-metadata' | 'server-metadata',
  entry: WellKnownEntry,
  base: string,
): JsonObject | undefined =>
  document === 'resource-metadata'
    ? buildResourceMetadata(entry.resourceMetadata, entry.paths, base, entry.authorizationServer)
    : entry.relay === undefined
      ? buildServerMetadata(entry.serverMetadata, entry.paths, base)
      : buildRelayMetadata(entry.relay, entry.paths, base)
