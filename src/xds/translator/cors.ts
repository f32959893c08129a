// Cors of a route → Envoy's CORS filter: the filter itself, and the CorsPolicy that stands in a route.

import type { JsonObject } from '../../ir/json.js'
import type { Cors } from '../../ir/route.js'
import { CORS_FILTER } from './filter-names.js'
import { any } from './json-object.js'
import { escapeRegex } from './regex.js'

/** Response headers of the CORS protocol (Fetch standard): what a backend's own CORS handling may set. */
export const CORS_RESPONSE_HEADERS: readonly string[] = [
  'access-control-allow-origin',
  'access-control-allow-credentials',
  'access-control-allow-methods',
  'access-control-allow-headers',
  'access-control-expose-headers',
  'access-control-max-age',
]

export const buildCorsFilter = (): JsonObject => ({
  name: CORS_FILTER,
  typed_config: any('envoy.extensions.filters.http.cors.v3.Cors'),
})

/** A host label's characters, and dots: what "*" stands for within an origin. */
const WILDCARD = '[a-zA-Z0-9.-]+'

/** envoy.type.matcher.v3.StringMatcher; the filter takes an exact "*" as any origin, and echoes the origin. */
const originMatcher = (origin: string): JsonObject =>
  origin === '*' || !origin.includes('*')
    ? { exact: origin }
    : { safe_regex: { regex: origin.split('*').map(escapeRegex).join(WILDCARD) } }

/** "*" counts only as the sole value (the filter then echoes what the preflight asks for); beside others it would be literal. */
function commaList(values: readonly string[]): string | undefined {
  if (values.length === 0) return undefined
  return values.includes('*') ? '*' : values.join(', ')
}

/** envoy.extensions.filters.http.cors.v3.CorsPolicy */
export const buildCorsPolicy = (cors: Cors): JsonObject =>
  any('envoy.extensions.filters.http.cors.v3.CorsPolicy', {
    allow_origin_string_match: cors.allowOrigins.map(originMatcher),
    allow_methods: commaList(cors.allowMethods),
    allow_headers: commaList(cors.allowHeaders),
    expose_headers: cors.exposeHeaders.length === 0 ? undefined : cors.exposeHeaders.join(', '),
    max_age: cors.maxAge?.toString(),
    allow_credentials: cors.allowCredentials,
    // A preflight of another origin must not reach the backend as an unauthenticated OPTIONS request.
    forward_not_matching_preflights: false,
  })
