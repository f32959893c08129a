// The Origin of a request to an MCP server (MCP 2026-07-28, Streamable HTTP, "Security Warning"): which web page calls, if any does.

import type { AuthzEntry } from '../ir/authz-entry.js'
import type { CheckRequest } from './check-request.js'

/** Whether a page calls that may not: "*" allows any origin, and nothing allows two of them. */
export function isForeignOrigin(
  { allowedOrigins }: AuthzEntry,
  { headers }: Pick<CheckRequest, 'headers'>,
): boolean {
  const origin = headers.get('origin')
  if (allowedOrigins === undefined || origin === undefined) return false
  return typeof origin !== 'string' || !['*', origin].some((one) => allowedOrigins.includes(one))
}
