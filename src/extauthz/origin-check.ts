// Checks the Origin of a request to an MCP server (MCP 2026-07-28, Streamable HTTP, "Security Warning").

import type { AuthzEntry } from '../model/authz-entry.js'
import type { CheckRequest } from './check-request.js'

/** Whether a page of a forbidden origin calls. "*" allows any origin; two Origin headers are never allowed. */
export function isForeignOrigin(
  { allowedOrigins }: AuthzEntry,
  { headers }: Pick<CheckRequest, 'headers'>,
): boolean {
  const origin = headers.get('origin')
  if (allowedOrigins === undefined || origin === undefined) return false
  return typeof origin !== 'string' || !['*', origin].some((one) => allowedOrigins.includes(one))
}
