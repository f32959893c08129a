// Builds Envoy's Cluster of a destination.

import { create } from '@bufbuild/protobuf'
import type { Destination } from '../../model/destination.js'
import {
  type CircuitBreakers,
  CircuitBreakersSchema,
} from '../../wire/grpc/generated/envoy/config/cluster/v3/circuit_breaker_pb.js'
import {
  type Cluster,
  Cluster_DiscoveryType,
  Cluster_DnsLookupFamily,
  ClusterSchema,
} from '../../wire/grpc/generated/envoy/config/cluster/v3/cluster_pb.js'
import type { Http2ProtocolOptionsSchema } from '../../wire/grpc/generated/envoy/config/core/v3/protocol_pb.js'
import type { HttpFilter } from '../../wire/grpc/generated/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js'
import { HttpProtocolOptionsSchema } from '../../wire/grpc/generated/envoy/extensions/upstreams/http/v3/http_protocol_options_pb.js'
import { buildLoadAssignment } from './load-assignment.js'
import { ADS_SOURCE, durationOf, type FieldsOf, packed } from './messages.js'
import { buildUpstreamTls } from './upstream-tls.js'
import type { XdsOptions } from './xds-resources.js'

const CONNECT_TIMEOUT_MS = 5_000

/**
 * Limits far above Envoy's default of 1024: every open event stream holds a request (and over HTTP/1 a connection).
 * Retries are above the default of 3 at once, but fewer: they load a backend that already fails.
 */
const CIRCUIT_BREAKERS: CircuitBreakers = create(CircuitBreakersSchema, {
  thresholds: [
    {
      maxConnections: 65_536,
      maxPendingRequests: 65_536,
      maxRequests: 65_536,
      maxRetries: 1024,
    },
  ],
})

/** The key that Envoy expects in typed_extension_protocol_options. */
export const HTTP_PROTOCOL_OPTIONS = HttpProtocolOptionsSchema.typeName

/**
 * Maximum number of frames waiting for the socket. At Envoy's default, 1,000 resets read at once would close the
 * connection, and with it the requests of all other clients.
 */
const MAX_WAITING_FRAMES = 100_000

/**
 * Makes a cluster speak HTTP/2. waitingFrames: maximum number of frames waiting for the socket; httpFilters: those of
 * the cluster, in front of the one that sends.
 */
export const http2Options = (
  waitingFrames: number,
  more: FieldsOf<typeof Http2ProtocolOptionsSchema> = {},
  httpFilters: HttpFilter[] = [],
): Cluster['typedExtensionProtocolOptions'] => ({
  [HTTP_PROTOCOL_OPTIONS]: packed(HttpProtocolOptionsSchema, {
    upstreamProtocolOptions: {
      case: 'explicitHttpConfig',
      value: {
        protocolConfig: {
          case: 'http2ProtocolOptions',
          value: {
            maxOutboundFrames: waitingFrames,
            maxOutboundControlFrames: waitingFrames,
            ...more,
          },
        },
      },
    },
    httpFilters,
  }),
})

const HTTP2 = http2Options(MAX_WAITING_FRAMES)

/**
 * Shorter than the 5 s after which servers of Node and uvicorn, which most MCP servers are, close an idle connection. A
 * request that Envoy sends over it at that moment is answered 503, and cannot be repeated.
 */
const IDLE_MS = 4_000

const HTTP1: Cluster['typedExtensionProtocolOptions'] = {
  [HTTP_PROTOCOL_OPTIONS]: packed(HttpProtocolOptionsSchema, {
    commonHttpProtocolOptions: { idleTimeout: durationOf(IDLE_MS) },
    upstreamProtocolOptions: {
      case: 'explicitHttpConfig',
      value: { protocolConfig: { case: 'httpProtocolOptions', value: {} } },
    },
  }),
}

/** A connection with TLS is dear, and mostly to a server that keeps it for longer. */
function protocolOptions({ protocol, tls }: Destination): Cluster['typedExtensionProtocolOptions'] {
  if (protocol === 'http2') return HTTP2
  return tls === undefined ? HTTP1 : {}
}

/** Returns the discovery fields. Addresses change often and are delivered over EDS; names are resolved by Envoy. */
const discoveryFields = ({ name, endpoints }: Destination): FieldsOf<typeof ClusterSchema> =>
  endpoints.type === 'addresses'
    ? {
        clusterDiscoveryType: { case: 'type', value: Cluster_DiscoveryType.EDS },
        edsClusterConfig: { edsConfig: ADS_SOURCE },
      }
    : {
        clusterDiscoveryType: { case: 'type', value: Cluster_DiscoveryType.STRICT_DNS },
        dnsLookupFamily: Cluster_DnsLookupFamily.V4_PREFERRED,
        loadAssignment: buildLoadAssignment(name, endpoints.host, endpoints.port),
      }

/** envoy.config.cluster.v3.Cluster */
export const buildCluster = (destination: Destination, options: XdsOptions): Cluster =>
  create(ClusterSchema, {
    name: destination.name,
    ...discoveryFields(destination),
    connectTimeout: durationOf(CONNECT_TIMEOUT_MS),
    circuitBreakers: CIRCUIT_BREAKERS,
    typedExtensionProtocolOptions: protocolOptions(destination),
    transportSocket:
      destination.tls &&
      buildUpstreamTls(destination.tls, destination.protocol, options.systemCaFile),
  })

/** Returns a cluster without endpoints: Envoy answers 503 to whatever is sent to it. */
export const buildEmptyCluster = (name: string): Cluster =>
  create(ClusterSchema, {
    name,
    clusterDiscoveryType: { case: 'type', value: Cluster_DiscoveryType.STATIC },
    loadAssignment: { clusterName: name },
    connectTimeout: durationOf(CONNECT_TIMEOUT_MS),
  })
