// The model between the users' resources and what Envoy and Gatehouse's servers read: plain JSON, replaced whole, never
// mutated. JSON.stringify of it is the golden. Everything in it is sorted.

import type { AuthzEntry } from './authz-entry.js'
import type { Destination } from './destination.js'
import type { ProcEntry } from './proc-entry.js'
import type { Route } from './route.js'

/** The model: the meaning of all resources, for Envoy and for both servers. */
export interface Ir {
  /** Oldest first, then by namespace and name. If one Envoy serves several, the first gets a port that they share. */
  readonly gateways: readonly Gateway[]
  /** Every backend that a route of any gateway can reach, sorted by name; one Envoy cluster each. */
  readonly destinations: readonly Destination[]
  /** Sorted by name; one Envoy Secret each. */
  readonly certificates: readonly Certificate[]
  /** The table of ext_authz, sorted by key. */
  readonly authz: readonly AuthzEntry[]
  /** The table of ext_proc, sorted by key. */
  readonly proc: readonly ProcEntry[]
}

/** A Gateway (Gateway API) with the ports that its Envoys listen on. */
export interface Gateway {
  readonly namespace: string
  readonly name: string
  /** One per port, sorted by port. */
  readonly listeners: readonly Listener[]
}

/** A port that Envoy binds (envoy.config.listener.v3.Listener). */
export interface Listener {
  /** From names.ts; the name of Envoy's Listener. */
  readonly name: string
  readonly port: number
  /** HTTP: exactly one, without tls. HTTPS: one per listener of the Gateway, each with tls. Sorted by name. */
  readonly chains: readonly FilterChain[]
}

/** Connections of a port that share TLS settings and routes (envoy.config.listener.v3.FilterChain). */
export interface FilterChain {
  /** From names.ts; the name of Envoy's RouteConfiguration. */
  readonly name: string
  readonly tls?: DownstreamTls
  readonly virtualHosts: readonly VirtualHost[]
}

/** TLS towards clients (Gateway listeners[].tls, mode Terminate). */
export interface DownstreamTls {
  /** SNI names ("*.example.com" allowed); empty: any. */
  readonly serverNames: readonly string[]
  /** Names of Ir.certificates. */
  readonly certificates: readonly string[]
  /** Absent: clients are not asked for a certificate. */
  readonly clients?: ClientTls
}

/** The check of clients by their certificates (Gateway tls.frontend). */
export interface ClientTls {
  /** PEM. */
  readonly authorities: string
  /** If false, clients without a valid certificate may connect too. */
  readonly isRequired: boolean
}

/** A Gateway's certificate and private key, for its clients or its backends. Never logged or dumped: config dump and goldens redact privateKey. */
export interface Certificate {
  readonly name: string
  /** PEM. */
  readonly certificateChain: string
  /** PEM. */
  readonly privateKey: string
}

/** The routes of some host names (envoy.config.route.v3.VirtualHost). */
export interface VirtualHost {
  /** From names.ts. */
  readonly name: string
  /** Host names without a port, "*.example.com" or "*"; Envoy ignores the port of Host. */
  readonly domains: readonly string[]
  /** In the order in which Envoy tries them (Gateway API's precedence). */
  readonly routes: readonly Route[]
}
