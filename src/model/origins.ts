// Origins of CORS rules, which may have a wildcard in their host (Gateway API, HTTPCORSFilter allowOrigins).

import { escapeRegex } from './regex.js'

/** What "*" matches in an origin: characters of host labels, and dots. */
const WILDCARD = '[a-zA-Z0-9.-]+'

/** Returns the regular expression (RE2) for an origin with a wildcard; undefined if it has none. */
export const wildcardOrigin = (origin: string): string | undefined =>
  origin.includes('*') ? origin.split('*').map(escapeRegex).join(WILDCARD) : undefined
