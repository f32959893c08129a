// Where the gateway is for its clients (decision 9): the configured origin, else the request's scheme and authority.

import type { McpPaths } from '../ir/proc-entry.js'

/** What Envoy tells of the request's address. */
export interface RequestAddress {
  /** ":scheme". */
  readonly scheme: string
  /** ":authority", as the client sent it. */
  readonly authority: string
  /** X-Forwarded-Proto as Envoy passes it on: Envoy overwrites what comes from an untrusted hop. */
  readonly forwardedProto?: string | undefined
}

const HOST = /^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9_.])?|\[[0-9A-Fa-f:.]{2,45}\])$/
const PORT = /^[0-9]{1,5}$/
const MAX_AUTHORITY_LENGTH = 261

/** The origin without a slash at its end; undefined: none is configured and the request's cannot be published. */
export const baseUrl = (paths: McpPaths, request: RequestAddress): string | undefined =>
  paths.origin ?? requestOrigin(request)

/** authorization_servers, and the issuer under metadataIssuer Gateway: the gateway's own MCP URL. */
export const mcpUrl = (base: string, paths: McpPaths): string => `${base}${paths.mcpPath}`

/** What a trusted proxy says that it was, else what Envoy says. */
export const requestScheme = (request: Omit<RequestAddress, 'authority'>): string =>
  httpScheme(firstOf(request.forwardedProto)) ?? request.scheme

function requestOrigin(request: RequestAddress): string | undefined {
  const scheme = httpScheme(requestScheme(request))
  return scheme === undefined || !isAuthority(request.authority)
    ? undefined
    : `${scheme}://${request.authority}`
}

/** Only a host and an optional port: nothing that could end a quoted string, a header or the host part of a URL. */
function isAuthority(authority: string): boolean {
  if (authority.length > MAX_AUTHORITY_LENGTH) return false
  const portAt = authority.lastIndexOf(':')
  if (portAt === -1 || authority.endsWith(']')) return isHost(authority)
  const port = authority.slice(portAt + 1)
  return isHost(authority.slice(0, portAt)) && PORT.test(port) && Number(port) <= 65535
}

// URL knows what the pattern does not: that [:::] is no address and 1.2.3.999 no host.
const isHost = (host: string): boolean => HOST.test(host) && URL.canParse(`http://${host}`)

const firstOf = (list: string | undefined): string | undefined =>
  list
    ?.split(',')
    .map((item) => item.trim())
    .find((item) => item !== '')

function httpScheme(scheme: string | undefined): 'http' | 'https' | undefined {
  const lower = scheme?.toLowerCase()
  return lower === 'http' || lower === 'https' ? lower : undefined
}
