// What buildXds makes: the resources of one Envoy, by xDS type, encoded.

import type { EncodedResource } from '../encode/encode.js'
import type { EncodedRoutes } from '../encode/encode-routes.js'

/** Each list is sorted by name. */
export interface XdsResources {
  /** envoy.config.listener.v3.Listener */
  readonly listeners: readonly EncodedResource[]
  /** envoy.config.route.v3.RouteConfiguration, with its virtual hosts. */
  readonly routes: readonly EncodedRoutes[]
  /** envoy.config.cluster.v3.Cluster */
  readonly clusters: readonly EncodedResource[]
  /** envoy.config.endpoint.v3.ClusterLoadAssignment */
  readonly endpoints: readonly EncodedResource[]
  /** envoy.extensions.transport_sockets.tls.v3.Secret. Hold private keys: never logged or dumped. */
  readonly secrets: readonly EncodedResource[]
}

/** By node.cluster: "*" for an Envoy that serves every Gateway, else the Gateway's "NAMESPACE/NAME". */
export type XdsByNode = ReadonlyMap<string, XdsResources>

export const EVERY_GATEWAY = '*'

export interface XdsOptions {
  /** Where Envoy's listeners bind: an IP address. */
  readonly listenAddress: string
  /** Proxies in front of Envoy whose X-Forwarded-* count. */
  readonly trustedHops: number
  /** The system's certificate authorities (PEM), as a path on Envoy's machine. */
  readonly systemCaFile: string
  /** Write one JSON line per request to Envoy's standard output. */
  readonly accessLog: boolean
  /** No other process may listen on a port that Envoy has: the second one is refused instead of sharing its traffic. */
  readonly exclusivePorts?: boolean
}
