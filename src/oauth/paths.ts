// The exact paths of one MCP endpoint's documents (decisions 12b and 13): nothing else below the well-known roots is served.

const RESOURCE_ROOT = '/.well-known/oauth-protected-resource'
const SERVER_ROOT = '/.well-known/oauth-authorization-server'
const OPENID_ROOT = '/.well-known/openid-configuration'
const REGISTRATION = '/client-registration'

/** The roots below which a path belongs to the metadata of an MCP endpoint. */
export const WELL_KNOWN_ROOTS: readonly string[] = [RESOURCE_ROOT, SERVER_ROOT, OPENID_ROOT]

/** What a relay answers below the path of the server metadata. */
export type RelayEndpoint = 'authorize' | 'callback' | 'token'
export const RELAY_ENDPOINTS: readonly RelayEndpoint[] = ['authorize', 'callback', 'token']

export type OauthDocument = 'resource-metadata' | 'server-metadata' | 'registration'

/** mcpPath: of McpPaths, here and below. RFC 9728 section 3.1. */
export const resourceMetadataPath = (mcpPath: string): string => `${RESOURCE_ROOT}${mcpPath}`

/** RFC 8414 section 3.1. */
export const serverMetadataPath = (mcpPath: string): string => `${SERVER_ROOT}${mcpPath}`

/** A slash at the end of mcpPath is left out: Envoy merges double slashes, the path could never be reached. */
export const registrationPath = (mcpPath: string): string =>
  `${SERVER_ROOT}${withoutLastSlash(mcpPath)}${REGISTRATION}`

/**
 * Which document is at path, a request's path with or without a query; undefined: none.
 * An mcpPath with a slash at its end is served without it too: RFC 8414 and RFC 9728 have clients drop it.
 */
export function oauthDocumentAt(mcpPath: string, path: string): OauthDocument | undefined {
  const asked = withoutQuery(path)
  if (asked === registrationPath(mcpPath)) return 'registration'
  for (const suffix of [mcpPath, withoutLastSlash(mcpPath)]) {
    if (asked === `${RESOURCE_ROOT}${suffix}`) return 'resource-metadata'
    if (asked === `${SERVER_ROOT}${suffix}` || asked === `${OPENID_ROOT}${suffix}`)
      return 'server-metadata'
  }
  return undefined
}

export const relayPath = (mcpPath: string, endpoint: RelayEndpoint): string =>
  `${SERVER_ROOT}${withoutLastSlash(mcpPath)}/${endpoint}`

/** path: with or without a query. undefined: none of a relay's. */
export const relayEndpointAt = (mcpPath: string, path: string): RelayEndpoint | undefined =>
  RELAY_ENDPOINTS.find((endpoint) => withoutQuery(path) === relayPath(mcpPath, endpoint))

const withoutQuery = (path: string): string => path.split(/[?#]/, 1)[0] ?? ''

const withoutLastSlash = (path: string): string => (path.endsWith('/') ? path.slice(0, -1) : path)
