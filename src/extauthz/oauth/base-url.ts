// The gateway's URL as clients see it (decision 9): the configured origin, else the request's scheme and authority.

import type { McpPaths } from '../../model/proc-entry.js'

/** The address of a request, as reported by Envoy. */
export interface RequestAddress {
  /** ":scheme". */
  readonly scheme: string
  /** ":authority", as sent by the client. */
  readonly authority: string
  /** X-Forwarded-Proto as forwarded by Envoy, which overwrites the value of an untrusted hop. */
  readonly forwardedProto?: string | undefined
}

const HOST = /^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9_.])?|\[[0-9A-Fa-f:.]{2,45}\])$/
const PORT = /^[0-9]{1,5}$/
const MAX_AUTHORITY_LENGTH = 261

/** Returns the origin without a trailing slash; undefined if none is configured and the request's is unpublishable. */
export const baseUrl = (paths: McpPaths, request: RequestAddress): string | undefined =>
  paths.origin ?? requestOrigin(request)

/** Returns the gateway's MCP URL, used in authorization_servers and as the issuer under metadataIssuer Gateway. */
export const mcpUrl = (base: string, paths: McpPaths): string => `${base}${paths.mcpPath}`

/** Returns the scheme reported by a trusted proxy, else the one reported by Envoy. */
export const requestScheme = (request: Omit<RequestAddress, 'authority'>): string =>
  httpScheme(firstOf(request.forwardedProto)) ?? request.scheme

function requestOrigin(request: RequestAddress): string | undefined {
  const scheme = httpScheme(requestScheme(request))
  return scheme === undefined || !isAuthority(request.authority)
    ? undefined
    : `${scheme}://${request.authority}`
}

/** Whether it is a host with an optional port, and cannot end a quoted string, a header or the host of a URL. */
function isAuthority(authority: string): boolean {
  if (authority.length > MAX_AUTHORITY_LENGTH) return false
  const portAt = authority.lastIndexOf(':')
  if (portAt === -1 || authority.endsWith(']')) return isHost(authority)
  const port = authority.slice(portAt + 1)
  return isHost(authority.slice(0, portAt)) && PORT.test(port) && Number(port) <= 65535
}

// URL rejects what the pattern does not: [:::] is not an address and 1.2.3.999 not a host.
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
