// Destination → Envoy's Cluster.

import type { Destination } from '../../ir/destination.js'
import type { JsonObject } from '../../ir/json.js'
import { ADS_SOURCE, any, durationJson } from './json-object.js'
import { loadAssignment } from './load-assignment.js'
import { buildUpstreamTls } from './upstream-tls.js'
import type { XdsOptions } from './xds-resources.js'

const CLUSTER = 'envoy.config.cluster.v3.Cluster'

const CONNECT_TIMEOUT_MS = 5_000

/** Every open event stream holds a request (and over HTTP/1 a connection); Envoy's default is 1024 of each. */
const CIRCUIT_BREAKERS: JsonObject = {
  thresholds: [{ max_connections: 65_536, max_pending_requests: 65_536, max_requests: 65_536 }],
}

const HTTP2: JsonObject = {
  'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': any(
    'envoy.extensions.upstreams.http.v3.HttpProtocolOptions',
    { explicit_http_config: { http2_protocol_options: {} } },
  ),
}

/** Addresses change often and come by EDS; a name is resolved by Envoy. */
const discoveryFields = (destination: Destination): JsonObject =>
  destination.endpoints.type === 'addresses'
    ? { type: 'EDS', eds_cluster_config: { eds_config: ADS_SOURCE } }
    : {
        type: 'STRICT_DNS',
        dns_lookup_family: 'V4_PREFERRED',
        load_assignment: loadAssignment(destination.name, destination.endpoints),
      }

export const buildCluster = (destination: Destination, options: XdsOptions): JsonObject =>
  any(CLUSTER, {
    name: destination.name,
    ...discoveryFields(destination),
    connect_timeout: durationJson(CONNECT_TIMEOUT_MS),
    circuit_breakers: CIRCUIT_BREAKERS,
    typed_extension_protocol_options: destination.protocol === 'http2' ? HTTP2 : undefined,
    transport_socket:
      destination.tls &&
      buildUpstreamTls(destination.tls, destination.protocol, options.systemCaFile),
  })

/** A cluster without endpoints: whatever is sent to it is answered 503 by Envoy. */
export const buildEmptyCluster = (name: string): JsonObject =>
  any(CLUSTER, {
    name,
    type: 'STATIC',
    load_assignment: { cluster_name: name, endpoints: [] },
    connect_timeout: durationJson(CONNECT_TIMEOUT_MS),
  })
