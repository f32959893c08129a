// The WWW-Authenticate header of a 401 (RFC 6750 section 3, RFC 9728 section 5.1): where an MCP client begins its login.

import type { Challenge } from '../ir/authz-entry.js'
import { baseUrl, type RequestAddress } from './base-url.js'
import { resourceMetadataPath } from './paths.js'

/**
 * The header's value. problem: what is wrong with the token, for a person; absent when the request had none
 * (RFC 6750: no error code then). Without a base URL that can be published a bare "Bearer", on which clients
 * fall back to the well-known path.
 */
export function challengeHeader(
  challenge: Challenge,
  request: RequestAddress,
  problem?: string,
): string {
  const base = baseUrl(challenge.paths, request)
  const parameters = [
    ...(base === undefined
      ? []
      : [parameter('resource_metadata', base + resourceMetadataPath(challenge.paths.mcpPath))]),
    ...(challenge.details ? details(challenge.scopes, problem) : []),
  ]
  return parameters.length === 0 ? 'Bearer' : `Bearer ${parameters.join(', ')}`
}

const details = (scopes: readonly string[], problem: string | undefined): string[] => [
  ...(problem === undefined
    ? []
    : [parameter('error', 'invalid_token'), parameter('error_description', problem)]),
  ...(scopes.length === 0 ? [] : [parameter('scope', scopes.join(' '))]),
]

/** RFC 6750 section 3 allows neither quotes nor backslashes nor anything beyond ASCII in these values. */
const parameter = (name: string, value: string): string =>
  `${name}="${value.replace(/[^\x20-\x7e]|["\\]/g, '')}"`
