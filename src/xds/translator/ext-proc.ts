// The ext_proc filter, which opens no stream by itself, and what a route says to it.

import type { JsonObject } from '../../ir/json.js'
import { CLAIMS_NAMESPACE, EXT_PROC_CLUSTER, ROUTE_METADATA_KEY } from '../../ir/names.js'
import type { ProcAttachment } from '../../ir/route.js'
import { EXT_PROC_FILTER } from './filter-names.js'
import { any, durationJson } from './json-object.js'

/** Above the 10 s that a proxied registration may take. Does not apply in full duplex. */
const MESSAGE_TIMEOUT_MS = 12_000

const OFF: JsonObject = {
  request_header_mode: 'SKIP',
  response_header_mode: 'SKIP',
  request_body_mode: 'NONE',
  response_body_mode: 'NONE',
  request_trailer_mode: 'SKIP',
  response_trailer_mode: 'SKIP',
}

/** Trailers must be sent in full duplex; Envoy checks that for the filter, but not for a route's override. */
const PROCESSING_MODES: Readonly<Record<ProcAttachment['mode'], JsonObject>> = {
  'well-known': { ...OFF, request_header_mode: 'SEND', request_body_mode: 'BUFFERED' },
  guard: {
    request_header_mode: 'SEND',
    response_header_mode: 'SEND',
    request_body_mode: 'FULL_DUPLEX_STREAMED',
    response_body_mode: 'FULL_DUPLEX_STREAMED',
    request_trailer_mode: 'SEND',
    response_trailer_mode: 'SEND',
  },
}

/** No timeout under grpc_service: it would bound the whole stream, and with it every event stream. */
export const buildExtProcFilter = (): JsonObject => ({
  name: EXT_PROC_FILTER,
  typed_config: any('envoy.extensions.filters.http.ext_proc.v3.ExternalProcessor', {
    grpc_service: { envoy_grpc: { cluster_name: EXT_PROC_CLUSTER } },
    failure_mode_allow: false,
    status_on_error: { code: 'ServiceUnavailable' },
    message_timeout: durationJson(MESSAGE_TIMEOUT_MS),
    processing_mode: OFF,
    allow_content_length_header: true,
    metadata_options: { forwarding_namespaces: { untyped: [CLAIMS_NAMESPACE] } },
    stat_prefix: 'gatehouse',
  }),
})

export const buildExtProcPerRoute = (proc: ProcAttachment): JsonObject =>
  any('envoy.extensions.filters.http.ext_proc.v3.ExtProcPerRoute', {
    overrides: {
      processing_mode: PROCESSING_MODES[proc.mode],
      grpc_initial_metadata: [{ key: ROUTE_METADATA_KEY, value: proc.key }],
    },
  })
