// Builds Envoy's CORS filter and the CorsPolicy of a route.

import { create } from '@bufbuild/protobuf'
import type { Any } from '@bufbuild/protobuf/wkt'
import {
  CorsPolicySchema,
  CorsSchema,
} from '../../grpc/generated/envoy/extensions/filters/http/cors/v3/cors_pb.js'
import {
  type HttpFilter,
  HttpFilterSchema,
} from '../../grpc/generated/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js'
import type { StringMatcher } from '../../grpc/generated/envoy/type/matcher/v3/string_pb.js'
import type { Cors } from '../../ir/route.js'
import { CORS_FILTER } from './filter-names.js'
import { packed, typedConfig } from './messages.js'
import { escapeRegex } from './regex.js'
import { exactly, matching } from './string-matcher.js'

/** Response headers of the CORS protocol (Fetch standard): what a backend's own CORS handling may set. */
export const CORS_RESPONSE_HEADERS: readonly string[] = [
  'access-control-allow-origin',
  'access-control-allow-credentials',
  'access-control-allow-methods',
  'access-control-allow-headers',
  'access-control-expose-headers',
  'access-control-max-age',
]

/** envoy.extensions.filters.http.cors.v3.Cors: has no policy itself; every policy is part of a route. */
export const buildCorsFilter = (): HttpFilter =>
  create(HttpFilterSchema, { name: CORS_FILTER, configType: typedConfig(CorsSchema) })

/** What "*" matches in an origin: characters of host labels, and dots. */
const WILDCARD = '[a-zA-Z0-9.-]+'

/** Returns the matcher of an origin. The filter treats an exact "*" as any origin, and echoes the origin. */
const originMatcher = (origin: string): StringMatcher =>
  origin === '*' || !origin.includes('*')
    ? exactly(origin)
    : matching(origin.split('*').map(escapeRegex).join(WILDCARD))

/**
 * Joins the values. "*" is a wildcard only by itself (the filter then echoes the preflight's request), not in a list.
 */
function commaList(values: readonly string[]): string | undefined {
  if (values.length === 0) return undefined
  return values.includes('*') ? '*' : values.join(', ')
}

/** envoy.extensions.filters.http.cors.v3.CorsPolicy */
export const buildCorsPolicy = (cors: Cors): Any =>
  packed(CorsPolicySchema, {
    allowOriginStringMatch: cors.allowOrigins.map(originMatcher),
    allowMethods: commaList(cors.allowMethods),
    allowHeaders: commaList(cors.allowHeaders),
    exposeHeaders: cors.exposeHeaders.join(', '),
    maxAge: cors.maxAge?.toString(),
    allowCredentials: cors.allowCredentials,
    // Otherwise a preflight of another origin would reach the backend as an unauthenticated OPTIONS request.
    forwardNotMatchingPreflights: false,
  })
