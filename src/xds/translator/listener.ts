// Builds Envoy's Listener: one address with one filter chain, or for HTTPS one per server name.

import { create } from '@bufbuild/protobuf'
import type { FilterChain, Listener } from '../../model/ir.js'
import {
  type FilterChain as EnvoyFilterChain,
  FilterChainSchema,
  ListenerFilterSchema,
} from '../../wire/grpc/generated/envoy/config/listener/v3/listener_components_pb.js'
import {
  type Listener as EnvoyListener,
  ListenerSchema,
} from '../../wire/grpc/generated/envoy/config/listener/v3/listener_pb.js'
import { TlsInspectorSchema } from '../../wire/grpc/generated/envoy/extensions/filters/listener/tls_inspector/v3/tls_inspector_pb.js'
import { buildDownstreamTls } from './downstream-tls.js'
import { buildHttpConnectionManager } from './filters/http-connection-manager.js'
import { socketAddress } from './load-assignment.js'
import { type FieldsOf, typedConfig } from './messages.js'
import type { XdsOptions } from './xds-resources.js'

/** Limits what Envoy buffers of one request or response; a registration that ext_proc buffers is far smaller. */
const BUFFER_LIMIT_BYTES = 1_048_576

const TLS_INSPECTOR = create(ListenerFilterSchema, {
  name: 'envoy.filters.listener.tls_inspector',
  configType: typedConfig(TlsInspectorSchema),
})

/** envoy.config.listener.v3.FilterChain */
export function buildFilterChain(chain: FilterChain, options: XdsOptions): EnvoyFilterChain {
  const serverNames = chain.tls?.serverNames ?? []
  return create(FilterChainSchema, {
    name: chain.name,
    filterChainMatch: serverNames.length === 0 ? undefined : { serverNames: [...serverNames] },
    filters: [buildHttpConnectionManager(chain, options)],
    transportSocket: chain.tls && buildDownstreamTls(chain.tls),
  })
}

/**
 * Disables SO_REUSEPORT, which lets every process of the same user share a port. The workers then share one socket, and
 * each connection goes to the worker with the fewest.
 */
const EXCLUSIVE_PORT: FieldsOf<typeof ListenerSchema> = {
  enableReusePort: false,
  connectionBalanceConfig: { balanceType: { case: 'exactBalance', value: {} } },
}

/** envoy.config.listener.v3.Listener, without its filter chains. */
export function buildListener(listener: Listener, options: XdsOptions): EnvoyListener {
  const isTls = listener.chains.some((chain) => chain.tls !== undefined)
  return create(ListenerSchema, {
    name: listener.name,
    address: socketAddress(options.listenAddress, listener.port),
    listenerFilters: isTls ? [TLS_INSPECTOR] : [],
    perConnectionBufferLimitBytes: BUFFER_LIMIT_BYTES,
    ...(options.exclusivePorts === true ? EXCLUSIVE_PORT : {}),
  })
}
