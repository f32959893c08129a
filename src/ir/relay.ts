// What the gateway must know to be an authorization server towards MCP clients, with one client of its own at the provider
// (mcp.authorizationServer Relay).

import type { RemoteTarget } from './remote-target.js'

/** The relay of one policy: what its documents, pages and token endpoint are made of (RFC 6749, 8414 and 9207). */
export interface Relay {
  /** NAMESPACE/NAME of the ProxyPolicy: bound into everything that is sealed or signed. */
  readonly policy: string
  /** The gateway's own: its MCP URL. */
  readonly issuer: string
  /** resourceMetadata.resource, as written. */
  readonly resource: string
  /** The client that is registered at the provider. */
  readonly clientId: string
  /** Absent: a public client. Never logged or dumped. */
  readonly clientSecret?: string
  /** 32 bytes each, base64url: the first writes, all read. At least one. Never logged or dumped. */
  readonly sealingKeys: readonly string[]
  /** How long a registration is good. */
  readonly clientLifetimeMs: number
  /** HOST or HOST:PORT of client metadata documents; empty: none is read. */
  readonly clientMetadataHosts: readonly string[]
  /** "loopback", or patterns of redirect URIs. */
  readonly redirectUris: readonly string[]
  /** What clients may ask for. */
  readonly scopes: readonly string[]
  /** Whether the provider is sent the resource (RFC 8707). */
  readonly sendsResource: boolean
  /** What the provider is sent beside that, in the order of their names. */
  readonly authorizationParameters: readonly (readonly [name: string, value: string])[]
  readonly providerIssuer: string
  /** Absent: its discovery document was never fetched, or names no endpoints that can be used. */
  readonly provider?: RelayProvider
}

/** What the identity provider's discovery document (RFC 8414) says that the relay uses. */
export interface RelayProvider {
  readonly authorizationEndpoint: string
  readonly token: RemoteTarget
  /** RFC 9207: its authorization responses carry iss, always. */
  readonly sendsIss: boolean
  /** RFC 6749 section 2.3.1: how a client secret is sent. */
  readonly secretIn: 'header' | 'body'
}
