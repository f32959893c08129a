// Types for the destinations of traffic (Envoy clusters) and of Gatehouse's own calls.

/** A backend of routes: one Envoy cluster (envoy.config.cluster.v3.Cluster). */
export interface Destination {
  /** From names.ts; the name of Envoy's Cluster (and of its ClusterLoadAssignment if the endpoints are addresses). */
  readonly name: string
  readonly endpoints: Endpoints
  readonly protocol: 'http1' | 'http2'
  readonly tls?: UpstreamTls
}

/** Where a backend listens. */
export type Endpoints =
  /** Known addresses, sent by EDS; sorted. If empty, requests get 503. */
  | {
      readonly type: 'addresses'
      readonly addresses: readonly Address[]
      /** The name that the addresses were resolved from, which is resolved repeatedly; absent: none. */
      readonly resolvedFrom?: string
    }
  /** A name that its user resolves. */
  | { readonly type: 'name'; readonly host: string; readonly port: number }

/** An IP address with a port (envoy.config.core.v3.SocketAddress). */
export interface Address {
  /** An IP address, without brackets. */
  readonly ip: string
  readonly port: number
}

/** TLS that Gatehouse or Envoy originates, according to a BackendTLSPolicy. */
export interface UpstreamTls {
  /** SNI, and the name that the certificate must carry. */
  readonly hostname: string
  /** Names that the certificate may carry instead of hostname (BackendTLSPolicy subjectAltNames); empty: hostname. */
  readonly subjectAltNames: readonly SubjectAltName[]
  /** "System": the operating system's authorities. */
  readonly authorities: 'System' | { readonly pem: string }
  /** Name of the Ir.certificates entry that Envoy presents; absent: none. */
  readonly certificate?: string
}

/** A name that a certificate may carry (BackendTLSPolicy validation.subjectAltNames[]). */
export interface SubjectAltName {
  readonly type: 'Hostname' | 'URI'
  readonly value: string
}
