// What the translation to xDS must know beside the Ir: the settings that shape Envoy's configuration.

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
