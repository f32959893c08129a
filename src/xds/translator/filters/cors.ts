// Builds Envoy's CORS filter and the CorsPolicy of a route.

import { create } from '@bufbuild/protobuf'
import type { Any } from '@bufbuild/protobuf/wkt'
import { wildcardOrigin } from '../../../model/origins.js'
import type { Cors } from '../../../model/route.js'
import {
  type HeaderValueOption,
  HeaderValueOption_HeaderAppendAction as AppendAction,
  HeaderValueOptionSchema,
} from '../../../wire/grpc/generated/envoy/config/core/v3/base_pb.js'
import {
  CorsPolicySchema,
  CorsSchema,
} from '../../../wire/grpc/generated/envoy/extensions/filters/http/cors/v3/cors_pb.js'
import {
  type HttpFilter,
  HttpFilterSchema,
} from '../../../wire/grpc/generated/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js'
import type { StringMatcher } from '../../../wire/grpc/generated/envoy/type/matcher/v3/string_pb.js'
import { exactly, matching, packed, typedConfig } from '../messages.js'
import type { FilterDefinition } from './filter.js'

/** Adds CORS headers. */
export const CORS_FILTER = 'envoy.filters.http.cors'

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
const buildCorsFilter = (): HttpFilter =>
  create(HttpFilterSchema, { name: CORS_FILTER, configType: typedConfig(CorsSchema) })

/** Returns the matcher of an origin. The filter treats an exact "*" as any origin, and echoes the origin. */
function originMatcher(origin: string): StringMatcher {
  const pattern = origin === '*' ? undefined : wildcardOrigin(origin)
  return pattern === undefined ? exactly(origin) : matching(pattern)
}

/**
 * Joins the values. "*" is a wildcard only by itself (the filter then echoes the preflight's request), not in a list.
 */
function commaList(values: readonly string[]): string | undefined {
  if (values.length === 0) return undefined
  return values.includes('*') ? '*' : values.join(', ')
}

/**
 * Response headers that pages may read in place of "*", which browsers do not take as a wildcard in answers to requests
 * with credentials. Envoy cannot list those of the answer itself.
 */
const EXPOSED_WITH_CREDENTIALS = [
  'Accept-Ranges',
  'Age',
  'Allow',
  'Content-Disposition',
  'Content-Encoding',
  'Content-Location',
  'Content-Range',
  'Date',
  'ETag',
  'Link',
  'Location',
  'Mcp-Session-Id',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'Server',
  'Server-Timing',
  'Vary',
  'WWW-Authenticate',
  'X-Request-Id',
]

function exposed({ exposeHeaders, allowCredentials }: Cors): string {
  const names =
    allowCredentials && exposeHeaders.includes('*')
      ? [...exposeHeaders.filter((name) => name !== '*'), ...EXPOSED_WITH_CREDENTIALS]
      : exposeHeaders
  return [...new Map(names.map((name) => [name.toLowerCase(), name])).values()].join(', ')
}

/** Returns the headers for requests that match by an allowed Origin, on a route where Envoy's filter does not act. */
export const corsHeaders = (cors: Cors): HeaderValueOption[] =>
  Object.entries({
    'access-control-allow-origin': '%REQ(origin)%',
    ...(cors.allowCredentials ? { 'access-control-allow-credentials': 'true' } : {}),
    ...(cors.exposeHeaders.length === 0 ? {} : { 'access-control-expose-headers': exposed(cors) }),
  }).map(([key, value]) =>
    create(HeaderValueOptionSchema, {
      header: { key, value },
      appendAction: AppendAction.OVERWRITE_IF_EXISTS_OR_ADD,
    }),
  )

/** envoy.extensions.filters.http.cors.v3.CorsPolicy */
export const buildCorsPolicy = (cors: Cors): Any =>
  packed(CorsPolicySchema, {
    allowOriginStringMatch: cors.allowOrigins.map(originMatcher),
    allowMethods: commaList(cors.allowMethods),
    allowHeaders: commaList(cors.allowHeaders),
    exposeHeaders: exposed(cors),
    maxAge: cors.maxAge?.toString(),
    allowCredentials: cors.allowCredentials,
    // Otherwise a preflight of another origin would reach the backend as an unauthenticated OPTIONS request.
    forwardNotMatchingPreflights: false,
  })

/** Envoy's CORS filter, which does not act on redirects. */
export const corsFilter: FilterDefinition = {
  name: CORS_FILTER,
  listener: buildCorsFilter,
  route: ({ cors, action }) =>
    cors === undefined || action.type === 'redirect' ? undefined : buildCorsPolicy(cors),
}
