// The exact paths of an MCP endpoint's documents (decisions 12b and 13); the well-known roots serve no others.

const RESOURCE_ROOT = '/.well-known/oauth-protected-resource'
const SERVER_ROOT = '/.well-known/oauth-authorization-server'
const OPENID_ROOT = '/.well-known/openid-configuration'
const REGISTRATION = '/client-registration'

/** Roots of the metadata paths of MCP endpoints. */
export const WELL_KNOWN_ROOTS: readonly string[] = [RESOURCE_ROOT, SERVER_ROOT, OPENID_ROOT]

/** Endpoints of a relay below the path of the server metadata. */
export type RelayEndpoint = 'authorize' | 'callback' | 'token'
/** The endpoints of a relay. */
export const RELAY_ENDPOINTS: readonly RelayEndpoint[] = ['authorize', 'callback', 'token']

/** What is served on a well-known path. */
export type OauthDocument = 'resource-metadata' | 'server-metadata' | 'registration'

/** Returns the metadata path of RFC 9728 section 3.1. mcpPath: of McpPaths, here and below. */
export const resourceMetadataPath = (mcpPath: string): string => `${RESOURCE_ROOT}${mcpPath}`

/** Returns the metadata path of RFC 8414 section 3.1. */
export const serverMetadataPath = (mcpPath: string): string => `${SERVER_ROOT}${mcpPath}`

/** Omits a trailing slash of mcpPath: Envoy merges double slashes, and the path would be unreachable. */
export const registrationPath = (mcpPath: string): string =>
  `${SERVER_ROOT}${withoutLastSlash(mcpPath)}${REGISTRATION}`

/**
 * Returns the document at path, a request's path with or without a query; undefined if there is none.
 * An mcpPath with a trailing slash is served without it too: RFC 8414 and RFC 9728 make clients drop it.
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

/** Returns the path of an endpoint of a relay. */
export const relayPath = (mcpPath: string, endpoint: RelayEndpoint): string =>
  `${SERVER_ROOT}${withoutLastSlash(mcpPath)}/${endpoint}`

/** Returns the relay endpoint at path, which may have a query; undefined if there is none. */
export const relayEndpointAt = (mcpPath: string, path: string): RelayEndpoint | undefined =>
  RELAY_ENDPOINTS.find((endpoint) => withoutQuery(path) === relayPath(mcpPath, endpoint))

const withoutQuery = (path: string): string => path.split(/[?#]/, 1)[0] ?? ''

const withoutLastSlash = (path: string): string => (path.endsWith('/') ? path.slice(0, -1) : path)
