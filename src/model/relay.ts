// Types for a relay (mcp.authorizationServer Relay): the gateway is the authorization server of MCP clients, and has
// one client of its own at the provider.

import type { RemoteTarget } from './remote-target.js'

/** The relay of one policy: the data for its documents, pages and token endpoint (RFC 6749, 8414 and 9207). */
export interface Relay {
  /** NAMESPACE/NAME of the ProxyPolicy: bound into everything that is sealed or signed. */
  readonly policy: string
  /** The gateway's issuer: its MCP URL. */
  readonly issuer: string
  /** resourceMetadata.resource, as written. */
  readonly resource: string
  /** The client registered at the provider. */
  readonly clientId: string
  /** Absent: a public client. Never logged or dumped. */
  readonly clientSecret?: string
  /** 32 bytes each, base64url: the first seals, all open. At least one. Never logged or dumped. */
  readonly sealingKeys: readonly string[]
  /** How long a registration is valid. */
  readonly clientLifetimeMs: number
  /** HOST or HOST:PORT of client metadata documents; if empty, none is fetched. */
  readonly clientMetadataHosts: readonly string[]
  /** "loopback", or patterns of redirect URIs. */
  readonly redirectUris: readonly string[]
  /** Scopes that clients may ask for. */
  readonly scopes: readonly string[]
  /** Whether the provider is sent the resource (RFC 8707). */
  readonly sendsResource: boolean
  /** Further parameters for the provider, sorted by name. */
  readonly authorizationParameters: readonly (readonly [name: string, value: string])[]
  readonly providerIssuer: string
  /** Absent: its discovery document was never fetched, or has no usable endpoints. */
  readonly provider?: RelayProvider
}

/** The parts of the identity provider's discovery document (RFC 8414) that the relay uses. */
export interface RelayProvider {
  readonly authorizationEndpoint: string
  readonly token: RemoteTarget
  /** Whether its authorization responses always carry iss (RFC 9207). */
  readonly sendsIss: boolean
  /** Where the client secret is sent (RFC 6749 section 2.3.1). */
  readonly secretIn: 'header' | 'body'
}
