// Builds WWW-Authenticate headers (RFC 6750 section 3, RFC 9728 section 5.1): of a 401, at which an MCP client begins
// its login, and of a 403, after which it may ask for more scopes.

import type { Challenge } from '../../model/authz-entry.js'
import { baseUrl, type RequestAddress } from './base-url.js'
import { resourceMetadataPath } from './paths.js'

/**
 * Returns the header of a 401. challenge: absent on a route without MCP. problem: what is wrong with the token, for a
 * person; absent without a token, when no error code is sent (RFC 6750). needed: scopes that every request requires.
 * Without a publishable base URL, resource_metadata is left out: clients fall back to the well-known path.
 */
export function challengeHeader(
  challenge: Challenge | undefined,
  request: RequestAddress,
  problem?: string,
  needed: readonly string[] = [],
): string {
  const isDetailed = challenge?.details === true
  const scopes = needed.length > 0 ? needed : isDetailed ? challenge.scopes : []
  return bearer([
    ...metadata(challenge, request),
    ...(isDetailed && problem !== undefined
      ? [parameter('error', 'invalid_token'), parameter('error_description', problem)]
      : []),
    ...scopeParameter(scopes),
  ])
}

/** Returns the header of a 403: the token is valid, but lacks one of these scopes. */
export const scopeChallenge = (
  challenge: Challenge | undefined,
  request: RequestAddress,
  scopes: readonly string[],
): string =>
  bearer([
    parameter('error', 'insufficient_scope'),
    ...scopeParameter(scopes),
    ...metadata(challenge, request),
    parameter('error_description', 'The token lacks a scope that this request needs'),
  ])

const bearer = (parameters: readonly string[]): string =>
  parameters.length === 0 ? 'Bearer' : `Bearer ${parameters.join(', ')}`

function metadata(challenge: Challenge | undefined, request: RequestAddress): readonly string[] {
  const base = challenge && baseUrl(challenge.paths, request)
  return challenge === undefined || base === undefined
    ? []
    : [parameter('resource_metadata', base + resourceMetadataPath(challenge.paths.mcpPath))]
}

/** Omits offline_access, which no resource requires (MCP 2026-07-28, authorization, "Refresh Tokens"). */
function scopeParameter(scopes: readonly string[]): readonly string[] {
  const asked = scopes.filter((scope) => scope !== 'offline_access')
  return asked.length === 0 ? [] : [parameter('scope', asked.join(' '))]
}

/** Formats a parameter. RFC 6750 section 3 allows no quotes, backslashes or non-ASCII characters in the value. */
const parameter = (name: string, value: string): string =>
  `${name}="${value.replace(/[^\x20-\x7e]|["\\]/g, '')}"`
