// Configuration of an Envoy with one listener per guardrail variant. Each has one route to the same LLM; only the
// ext_proc filter differs.

import type { JsonObject } from '../src/model/json.js'
import { ROUTE_METADATA_KEY } from '../src/model/names.js'
import { LayeredRuntimeSchema } from '../src/wire/grpc/generated/envoy/config/bootstrap/v3/bootstrap_pb.js'
import { LAYERED_RUNTIME } from '../src/xds/bootstrap/runtime.js'
import { messageJson } from '../src/xds/encode/read.js'
import { grpcCluster, HTTP_FILTERS, listener, socketAddress } from './envoy-parts.js'

export const GUARD_VARIANTS = [
  'no guard',
  'no-op ext_proc',
  'Go no-op ext_proc',
  'allow',
  'change',
  'steady',
] as const
export type GuardVariant = (typeof GUARD_VARIANTS)[number]

export interface GuardEnvoyOptions {
  readonly admin: number
  readonly ports: Readonly<Record<GuardVariant, number>>
  /** Socket paths of the ext_proc servers. */
  readonly noop: string
  /** Its listener gets no requests if it is not running. */
  readonly go: string
  readonly gatehouse: string
  readonly llmPort: number
}

export function guardEnvoy({
  admin,
  ports,
  noop,
  go,
  gatehouse,
  llmPort,
}: GuardEnvoyOptions): JsonObject {
  const route = {
    match: { prefix: '/' },
    route: { cluster: 'llm', timeout: '0s', idle_timeout: '0s' },
  }
  const filters: Readonly<Record<GuardVariant, readonly JsonObject[]>> = {
    'no guard': [],
    'no-op ext_proc': [extProc('noop', 'none')],
    'Go no-op ext_proc': [extProc('go', 'none')],
    allow: [extProc('gatehouse', 'default/allow/0')],
    change: [extProc('gatehouse', 'default/change/0')],
    steady: [extProc('gatehouse', 'default/steady/0')],
  }
  const llm = {
    name: 'llm',
    connect_timeout: '1s',
    load_assignment: {
      cluster_name: 'llm',
      endpoints: [{ lb_endpoints: [{ endpoint: { address: socketAddress(llmPort) } }] }],
    },
    circuit_breakers: { thresholds: [{ max_connections: 4096, max_requests: 4096 }] },
  }
  return {
    admin: { address: socketAddress(admin) },
    layered_runtime: messageJson(LayeredRuntimeSchema, LAYERED_RUNTIME),
    static_resources: {
      listeners: GUARD_VARIANTS.map((variant) => listener(ports[variant], filters[variant], route)),
      clusters: [
        grpcCluster('noop', noop),
        grpcCluster('go', go),
        grpcCluster('gatehouse', gatehouse),
        llm,
      ],
    },
  }
}

/** The ext_proc filter as Gatehouse configures it for a guarded route. */
const extProc = (clusterName: string, key: string): JsonObject => ({
  name: 'envoy.filters.http.ext_proc',
  typed_config: {
    '@type': `${HTTP_FILTERS}.ext_proc.v3.ExternalProcessor`,
    grpc_service: {
      envoy_grpc: { cluster_name: clusterName },
      initial_metadata: [{ key: ROUTE_METADATA_KEY, value: key }],
    },
    status_on_error: { code: 'ServiceUnavailable' },
    processing_mode: {
      request_header_mode: 'SEND',
      response_header_mode: 'SEND',
      request_body_mode: 'FULL_DUPLEX_STREAMED',
      response_body_mode: 'FULL_DUPLEX_STREAMED',
      request_trailer_mode: 'SEND',
      response_trailer_mode: 'SEND',
    },
    message_timeout: '12s',
    allow_content_length_header: true,
  },
})
