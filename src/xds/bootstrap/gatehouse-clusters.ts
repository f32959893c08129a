// Builds the three clusters that lead to Gatehouse: for ADS, ext_authz and ext_proc. They are in the bootstrap, not in
// CDS, so that all replicas publish the same resources; each has its own connections and breakers.

import { isIP } from 'node:net'
import { create } from '@bufbuild/protobuf'
import { EXT_AUTHZ_CLUSTER, EXT_PROC_CLUSTER, XDS_CLUSTER } from '../../model/names.js'
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
import {
  type Address,
  AddressSchema,
} from '../../wire/grpc/generated/envoy/config/core/v3/address_pb.js'
import {
  type TransportSocket,
  TransportSocketSchema,
} from '../../wire/grpc/generated/envoy/config/core/v3/base_pb.js'
import {
  type HealthCheck,
  HealthCheckSchema,
} from '../../wire/grpc/generated/envoy/config/core/v3/health_check_pb.js'
import {
  type KeepaliveSettings,
  KeepaliveSettingsSchema,
} from '../../wire/grpc/generated/envoy/config/core/v3/protocol_pb.js'
import { TlsParameters_TlsProtocol } from '../../wire/grpc/generated/envoy/extensions/transport_sockets/tls/v3/common_pb.js'
import { UpstreamTlsContextSchema } from '../../wire/grpc/generated/envoy/extensions/transport_sockets/tls/v3/tls_pb.js'
import { http2Options } from '../translator/cluster.js'
import { lbEndpoint, socketAddress } from '../translator/load-assignment.js'
import {
  durationOf,
  type FieldsOf,
  fileSource,
  inlineString,
  typedConfig,
} from '../translator/messages.js'
import { nameMatcher, serverName } from '../translator/upstream-tls.js'
import { tokenFilters, type TokenSource } from './token-filters.js'

/** The address where Envoy reaches Gatehouse. */
export type GatehouseAddress =
  | { readonly type: 'tcp'; readonly host: string; readonly port: number }
  | { readonly type: 'unix'; readonly path: string }

/** TLS settings for connections to Gatehouse; paths are on Envoy's machine. */
export interface GatehouseTls {
  /** Certificate authorities (PEM) that must have signed Gatehouse's certificate: a file, or their text. */
  readonly ca: { readonly file: string } | { readonly pem: string }
  /** The name that the certificate must contain. */
  readonly serverName: string
  /** Envoy's own certificate and key (PEM), for mutual TLS. */
  readonly clientCertificate?: { readonly certFile: string; readonly keyFile: string }
  /** The token that Envoy sends with each call in place of a certificate. */
  readonly token?: TokenSource
}

/** How an Envoy reaches Gatehouse. */
export interface GatehouseConnection {
  readonly address: GatehouseAddress
  /** Addresses of the workers, for checks and processing: Envoy then spreads requests, not connections, among them. */
  readonly workers?: readonly GatehouseAddress[]
  readonly tls?: GatehouseTls
}

const CONNECT_TIMEOUT_MS = 1_000

/**
 * Limits far above Envoy's defaults. Every request of a guarded route holds an ext_proc stream to its end; the default
 * is 1024. Envoy retries requests whose connection ended, by default only 3 at a time: all others would be 503.
 */
const CIRCUIT_BREAKERS: CircuitBreakers = create(CircuitBreakersSchema, {
  thresholds: [
    {
      maxConnections: 65_536,
      maxPendingRequests: 65_536,
      maxRequests: 65_536,
      maxRetries: 65_536,
    },
  ],
})

/** Gatehouse's MAX_CONCURRENT_STREAMS, so that Envoy knows it before the SETTINGS frame arrives. */
const MAX_CONCURRENT_STREAMS = 4_096

/**
 * Maximum number of frames waiting for the socket. At Envoy's default of 1,000 it closes the connection with everything
 * in flight: a thousand cancelled requests while Gatehouse is busy would be 503 for all other clients. The keepalive
 * closes connections that nobody reads.
 */
const MAX_WAITING_FRAMES = 1_000_000

const keepalive = (intervalMs: number, timeoutMs: number): KeepaliveSettings =>
  create(KeepaliveSettingsSchema, {
    interval: durationOf(intervalMs),
    timeout: durationOf(timeoutMs),
  })

/**
 * Requests wait for checks and guards, so dead connections must close soon: a ping within 1.15 s (jitter), then 3 s.
 */
const REQUESTS_KEEPALIVE = keepalive(1_000, 3_000)
const ADS_KEEPALIVE = keepalive(30_000, 5_000)

/** A draining replica reports that by its health; its open connections would not show it. */
const HEALTH_CHECK: HealthCheck = create(HealthCheckSchema, {
  timeout: durationOf(1_000),
  interval: durationOf(2_000),
  noTrafficInterval: durationOf(5_000),
  unhealthyThreshold: 2,
  healthyThreshold: 1,
  healthChecker: { case: 'grpcHealthCheck', value: {} },
})

/** Returns an address. mode (octal) is for Unix sockets that Envoy creates. */
export const envoyAddress = (address: GatehouseAddress, mode = 0): Address =>
  address.type === 'unix'
    ? create(AddressSchema, { address: { case: 'pipe', value: { path: address.path, mode } } })
    : socketAddress(address.host, address.port)

const isResolved = (address: GatehouseAddress): boolean =>
  address.type === 'unix' || isIP(address.host) !== 0

const transportSocket = ({
  ca,
  serverName: name,
  clientCertificate,
}: GatehouseTls): TransportSocket =>
  create(TransportSocketSchema, {
    name: 'envoy.transport_sockets.tls',
    configType: typedConfig(UpstreamTlsContextSchema, {
      sni: serverName(name),
      commonTlsContext: {
        tlsParams: { tlsMinimumProtocolVersion: TlsParameters_TlsProtocol.TLSv1_2 },
        alpnProtocols: ['h2'],
        tlsCertificates: clientCertificate && [
          {
            certificateChain: fileSource(clientCertificate.certFile),
            privateKey: fileSource(clientCertificate.keyFile),
          },
        ],
        validationContextType: {
          case: 'validationContext',
          value: {
            trustedCa: 'file' in ca ? fileSource(ca.file) : inlineString(ca.pem),
            matchTypedSubjectAltNames: [nameMatcher(name)],
          },
        },
      },
    }),
  })

interface Care {
  readonly keepalive: KeepaliveSettings
  readonly healthChecks: HealthCheck[]
  /** Absent for the address of the connection. */
  readonly endpoints?: readonly GatehouseAddress[] | undefined
}

/** Returns the discovery type; with STRICT_DNS Envoy resolves the name itself. */
const discoveryFields = (address: GatehouseAddress): FieldsOf<typeof ClusterSchema> =>
  isResolved(address)
    ? { clusterDiscoveryType: { case: 'type', value: Cluster_DiscoveryType.STATIC } }
    : {
        clusterDiscoveryType: { case: 'type', value: Cluster_DiscoveryType.STRICT_DNS },
        dnsLookupFamily: Cluster_DnsLookupFamily.V4_PREFERRED,
      }

const buildGatehouseCluster = (
  name: string,
  { address, tls }: GatehouseConnection,
  { keepalive, healthChecks, endpoints = [address] }: Care,
): Cluster =>
  create(ClusterSchema, {
    name,
    ...discoveryFields(address),
    connectTimeout: durationOf(CONNECT_TIMEOUT_MS),
    loadAssignment: {
      clusterName: name,
      endpoints: [{ lbEndpoints: endpoints.map((one) => lbEndpoint(envoyAddress(one))) }],
    },
    circuitBreakers: CIRCUIT_BREAKERS,
    typedExtensionProtocolOptions: http2Options(
      MAX_WAITING_FRAMES,
      {
        maxConcurrentStreams: MAX_CONCURRENT_STREAMS,
        connectionKeepalive: keepalive,
      },
      tls?.token && tokenFilters(tls.token),
    ),
    healthChecks,
    transportSocket: tls && transportSocket(tls),
  })

/** Returns the cluster for ADS. */
export const buildXdsCluster = (connection: GatehouseConnection): Cluster =>
  buildGatehouseCluster(XDS_CLUSTER, connection, { keepalive: ADS_KEEPALIVE, healthChecks: [] })

/** Returns the clusters for ext_authz and ext_proc. */
export const buildServerClusters = (connection: GatehouseConnection): readonly Cluster[] =>
  [EXT_AUTHZ_CLUSTER, EXT_PROC_CLUSTER].map((name) =>
    buildGatehouseCluster(name, connection, {
      keepalive: REQUESTS_KEEPALIVE,
      healthChecks: [HEALTH_CHECK],
      endpoints: connection.workers,
    }),
  )
