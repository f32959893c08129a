// Where traffic goes, or one of our own calls: an Envoy cluster, or the address a fetch connects to.

/** A backend that routes lead to: one Envoy cluster (envoy.config.cluster.v3.Cluster). */
export interface Destination {
  /** From names.ts; the name of Envoy's Cluster (and of its ClusterLoadAssignment when the endpoints are addresses). */
  readonly name: string
  readonly endpoints: Endpoints
  readonly protocol: 'http1' | 'http2'
  readonly tls?: UpstreamTls
}

/** Where a backend listens. */
export type Endpoints =
  /** Known addresses, by EDS; sorted. Empty: 503. */
  | {
      readonly type: 'addresses'
      readonly addresses: readonly Address[]
      /** The name that they are the addresses of, which is to be resolved again and again; absent: of none. */
      readonly resolvedFrom?: string
    }
  /** A name to be resolved where it is used. */
  | { readonly type: 'name'; readonly host: string; readonly port: number }

/** An IP address with a port (envoy.config.core.v3.SocketAddress). */
export interface Address {
  /** An IP address, without brackets. */
  readonly ip: string
  readonly port: number
}

/** TLS that we or Envoy originate, by a BackendTLSPolicy. */
export interface UpstreamTls {
  /** SNI, and the name that the certificate must carry. */
  readonly hostname: string
  /** Names that the certificate may carry instead of hostname (BackendTLSPolicy subjectAltNames); empty: hostname. */
  readonly subjectAltNames: readonly SubjectAltName[]
  /** "System": the operating system's authorities. */
  readonly authorities: 'System' | { readonly pem: string }
}

/** A name that a certificate may carry (BackendTLSPolicy validation.subjectAltNames[]). */
export interface SubjectAltName {
  readonly type: 'Hostname' | 'URI'
  readonly value: string
}
