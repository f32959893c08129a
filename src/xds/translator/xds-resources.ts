// The output of buildXds: the encoded resources of one Envoy, by xDS type.

import type { EncodedResource } from '../encode/encode.js'
import type { EncodedRoutes } from '../encode/encode-routes.js'

/** Resources by type, each list sorted by name. */
export interface XdsResources {
  /** envoy.config.listener.v3.Listener */
  readonly listeners: readonly EncodedResource[]
  /** envoy.config.route.v3.RouteConfiguration, with its virtual hosts. */
  readonly routes: readonly EncodedRoutes[]
  /** envoy.config.cluster.v3.Cluster */
  readonly clusters: readonly EncodedResource[]
  /** envoy.config.endpoint.v3.ClusterLoadAssignment */
  readonly endpoints: readonly EncodedResource[]
  /** envoy.extensions.transport_sockets.tls.v3.Secret. They have private keys and must never be logged or dumped. */
  readonly secrets: readonly EncodedResource[]
}

/** Resources by node.cluster: "*" for an Envoy that serves every Gateway, else the Gateway's "NAMESPACE/NAME". */
export type XdsByNode = ReadonlyMap<string, XdsResources>

/** Node cluster of an Envoy that serves all Gateways. */
export const EVERY_GATEWAY = '*'

/** Where Envoy sends the spans of requests. */
export interface TracingOptions {
  /** Base URL of a collector that receives OTLP over HTTP. */
  readonly otlp: string
  /** Percentage of the requests without a traceparent that are traced. */
  readonly sampling: number
}

/** Settings of the translation to xDS. */
export interface XdsOptions {
  /** The IP address that Envoy's listeners bind. */
  readonly listenAddress: string
  /** Number of proxies in front of Envoy whose X-Forwarded-* headers are trusted. */
  readonly trustedHops: number
  /** Path, on Envoy's machine, of the system's certificate authorities (PEM). */
  readonly systemCaFile: string
  /** Whether Envoy writes one JSON line per request to its standard output. */
  readonly accessLog: boolean
  /** Absent: Envoy traces no request. */
  readonly tracing?: TracingOptions
  /** Whether Envoy's ports are exclusive: a second process fails to bind one instead of sharing its traffic. */
  readonly exclusivePorts?: boolean
}
