// The three clusters of Envoy's bootstrap that lead to Gatehouse: for ADS, ext_authz and ext_proc. They stand in
// the bootstrap, not in CDS, so that replicas publish the same. Separate, so that each has its own connections and breakers.

import { isIP } from 'node:net'
import type { JsonObject } from '../../ir/json.js'
import { EXT_AUTHZ_CLUSTER, EXT_PROC_CLUSTER, XDS_CLUSTER } from '../../ir/names.js'
import { any, durationJson, jsonObject } from '../translator/json-object.js'

/** Where Envoy reaches Gatehouse. */
export type GatehouseAddress =
  | { readonly type: 'tcp'; readonly host: string; readonly port: number }
  | { readonly type: 'unix'; readonly path: string }

/** TLS towards Gatehouse; paths are on Envoy's machine. */
export interface GatehouseTls {
  /** Authorities (PEM) that Gatehouse's certificate must be signed by. */
  readonly caFile: string
  /** The name that the certificate must carry. */
  readonly serverName: string
  /** Envoy's own certificate and key (PEM), for mutual TLS. */
  readonly clientCertificate?: { readonly certFile: string; readonly keyFile: string }
}

export interface GatehouseConnection {
  readonly address: GatehouseAddress
  readonly tls?: GatehouseTls
}

const CONNECT_TIMEOUT_MS = 1_000

/**
 * Every request of a guarded route holds an ext_proc stream to its end; Envoy's default is 1024. A request whose connection
 * ends under it is tried again by Envoy, and by default no more than 3 at a time: all others would be 503.
 */
const CIRCUIT_BREAKERS: JsonObject = {
  thresholds: [
    {
      max_connections: 65_536,
      max_pending_requests: 65_536,
      max_requests: 65_536,
      max_retries: 65_536,
    },
  ],
}

/** What our server allows (MAX_CONCURRENT_STREAMS): Envoy knows it before our SETTINGS come. */
const MAX_CONCURRENT_STREAMS = 4_096

/** Requests wait for checks and guards: where nobody is at home they must end soon, within 1.15 s (jitter) and 3 s. */
const REQUESTS_KEEPALIVE: JsonObject = { interval: '1s', timeout: '3s' }
const ADS_KEEPALIVE: JsonObject = { interval: '30s', timeout: '5s' }

const http2 = (keepalive: JsonObject): JsonObject => ({
  'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': any(
    'envoy.extensions.upstreams.http.v3.HttpProtocolOptions',
    {
      explicit_http_config: {
        http2_protocol_options: {
          max_concurrent_streams: MAX_CONCURRENT_STREAMS,
          connection_keepalive: keepalive,
        },
      },
    },
  ),
})

/** A replica that drains says so; a connection alone would not. */
const HEALTH_CHECKS: readonly JsonObject[] = [
  {
    timeout: '1s',
    interval: '2s',
    no_traffic_interval: '5s',
    unhealthy_threshold: 2,
    healthy_threshold: 1,
    grpc_health_check: {},
  },
]

const envoyAddress = (address: GatehouseAddress): JsonObject =>
  address.type === 'unix'
    ? { pipe: { path: address.path } }
    : { socket_address: { address: address.host, port_value: address.port } }

const isResolved = (address: GatehouseAddress): boolean =>
  address.type === 'unix' || isIP(address.host) !== 0

const transportSocket = (tls: GatehouseTls): JsonObject => ({
  name: 'envoy.transport_sockets.tls',
  typed_config: any('envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext', {
    sni: isIP(tls.serverName) === 0 ? tls.serverName : undefined,
    common_tls_context: jsonObject({
      tls_params: { tls_minimum_protocol_version: 'TLSv1_2' },
      alpn_protocols: ['h2'],
      tls_certificates: tls.clientCertificate && [
        {
          certificate_chain: { filename: tls.clientCertificate.certFile },
          private_key: { filename: tls.clientCertificate.keyFile },
        },
      ],
      validation_context: {
        trusted_ca: { filename: tls.caFile },
        match_typed_subject_alt_names: [
          {
            san_type: isIP(tls.serverName) === 0 ? 'DNS' : 'IP_ADDRESS',
            matcher: { exact: tls.serverName },
          },
        ],
      },
    }),
  }),
})

interface Care {
  readonly keepalive: JsonObject
  readonly healthChecks?: readonly JsonObject[]
}

const buildGatehouseCluster = (
  name: string,
  connection: GatehouseConnection,
  { keepalive, healthChecks }: Care,
): JsonObject =>
  jsonObject({
    name,
    type: isResolved(connection.address) ? 'STATIC' : 'STRICT_DNS',
    dns_lookup_family: isResolved(connection.address) ? undefined : 'V4_PREFERRED',
    connect_timeout: durationJson(CONNECT_TIMEOUT_MS),
    load_assignment: {
      cluster_name: name,
      endpoints: [{ lb_endpoints: [{ endpoint: { address: envoyAddress(connection.address) } }] }],
    },
    circuit_breakers: CIRCUIT_BREAKERS,
    typed_extension_protocol_options: http2(keepalive),
    health_checks: healthChecks,
    transport_socket: connection.tls && transportSocket(connection.tls),
  })

export const buildXdsCluster = (connection: GatehouseConnection): JsonObject =>
  buildGatehouseCluster(XDS_CLUSTER, connection, { keepalive: ADS_KEEPALIVE })

/** ext_authz and ext_proc. */
export const buildServerClusters = (connection: GatehouseConnection): readonly JsonObject[] =>
  [EXT_AUTHZ_CLUSTER, EXT_PROC_CLUSTER].map((name) =>
    buildGatehouseCluster(name, connection, {
      keepalive: REQUESTS_KEEPALIVE,
      healthChecks: HEALTH_CHECKS,
    }),
  )
