// Builds the protected-resource metadata document (RFC 9728 section 2) from the policy alone, not from the provider.

import type { Json, JsonObject } from '../../model/json.js'
import type { McpPaths } from '../../model/proc-entry.js'
import { mcpUrl } from './base-url.js'

/** The protocol version published unless --mcp-protocol-version or the policy sets another. */
export const MCP_PROTOCOL_VERSION = '2025-06-18'

/**
 * Builds the document. base: from baseUrl(). configured: the policy's resourceMetadata, whose resource is published as
 * written, but not its authorization_servers (decision 12b). authorizationServer: an issuer; default: the MCP URL.
 */
export function buildResourceMetadata(
  configured: JsonObject,
  paths: McpPaths,
  base: string,
  authorizationServer?: string,
): JsonObject {
  const url = mcpUrl(base, paths)
  return {
    resource: url,
    mcp_protocol_version: MCP_PROTOCOL_VERSION,
    resource_type: 'mcp-server',
    ...publishedMembers(configured),
    authorization_servers: [authorizationServer ?? url],
  }
}

/** Converts camelCase names to snake_case (decision 14) and keeps values, except for empty ones, which are omitted. */
export const publishedMembers = (configured: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(configured)
      .filter(([, value]) => !isOmitted(value))
      .map(([name, value]) => [snakeCase(name), value]),
  )

// RFC 9728 section 3.2: members with zero elements MUST be omitted. Clients reject a document that contains null.
const isOmitted = (value: Json): boolean =>
  value === null || (Array.isArray(value) && value.length === 0)

const snakeCase = (name: string): string =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .toLowerCase()
