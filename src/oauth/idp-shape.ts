// The questions that are answered per kind of identity provider. Each takes the configured issuer, a URL.

import type { JsonObject } from '../ir/json.js'

export interface Idp {
  /** Where the discovery document may be, in the order in which to try. */
  discoveryUrls(issuer: string): readonly string[]
  /** The key set's path where the policy names none; undefined: it must name one. */
  jwksPath(issuer: string): string | undefined
  /** What becomes of a registration while mcp.clientId is not set. discovery: as far as it was fetched. */
  registration(issuer: string, discovery?: JsonObject): UnconfiguredRegistration
}

export type UnconfiguredRegistration =
  | { readonly type: 'proxy'; readonly url: string }
  | { readonly type: 'refuse'; readonly description: string }
