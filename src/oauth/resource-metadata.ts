// The protected-resource metadata document (RFC 9728 section 2; specification): from the policy alone, never from the provider.

import type { Json, JsonObject } from '../ir/json.js'
import type { McpPaths } from '../ir/proc-entry.js'
import { mcpUrl } from './base-url.js'

/** What is published unless the setting --mcp-protocol-version or the policy says otherwise. */
export const MCP_PROTOCOL_VERSION = '2025-06-18'

/**
 * base: of baseUrl(). configured: the policy's resourceMetadata; a resource in it is published as it is written,
 * authorization_servers in it is not (decision 12b). authorizationServer: its issuer; default the gateway's MCP URL.
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

/** camelCase names become snake_case ones (decision 14); names that are snake_case already stay. Values are untouched. */
export const publishedMembers = (configured: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(configured)
      .filter(([, value]) => !isOmitted(value))
      .map(([name, value]) => [snakeCase(name), value]),
  )

// RFC 9728 section 3.2: members with zero elements MUST be omitted; clients refuse the whole document for a null.
const isOmitted = (value: Json): boolean =>
  value === null || (Array.isArray(value) && value.length === 0)

const snakeCase = (name: string): string =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .toLowerCase()
