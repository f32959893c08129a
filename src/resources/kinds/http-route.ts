// HTTPRoute (Gateway API v1, experimental channel): where requests are routed and how they are modified.

import { z } from 'zod'
import { duration, GATEWAY_API_GROUP, group, kind, name, namespace, port } from './fields.js'
import { httpRouteFilter } from './http-route-filter.js'
import { unimplemented } from './unimplemented.js'

const parentRef = z.object({
  group: group().default(GATEWAY_API_GROUP),
  kind: kind().default('Gateway'),
  namespace: namespace().optional(),
  name: name(),
  sectionName: name().optional(),
  port: port().optional(),
})

const valueMatch = z.object({
  type: z.enum(['Exact', 'RegularExpression']).default('Exact'),
  name: z.string().min(1).max(256),
  value: z.string().min(1).max(4096),
})

const queryMatch = valueMatch.extend({ value: z.string().min(1).max(1024) })

const match = z.object({
  path: z
    .object({
      type: z.enum(['Exact', 'PathPrefix', 'RegularExpression']).default('PathPrefix'),
      value: z.string().max(1024).default('/'),
    })
    .prefault({}),
  headers: z.array(valueMatch).max(16).default([]),
  queryParams: z.array(queryMatch).max(16).default([]),
  method: z
    .enum(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH'])
    .optional(),
})

const backendRef = z.object({
  group: group().default(''),
  kind: kind().default('Service'),
  name: name(),
  namespace: namespace().optional(),
  port: port().optional(),
  weight: z.int().min(0).max(1_000_000).default(1),
  filters: z.array(httpRouteFilter).max(16).default([]),
})

const retry = z.object({
  codes: z.array(z.int().min(400).max(599)).max(64).default([]),
  attempts: z.int().min(0).max(100).optional(),
  backoff: duration().optional(),
})

const rule = unimplemented(
  z.object({
    name: name().optional(),
    matches: z.array(match).max(64).prefault([{}]),
    filters: z.array(httpRouteFilter).max(16).default([]),
    backendRefs: z.array(backendRef).max(16).default([]),
    /** Milliseconds; 0 means no timeout. */
    timeouts: z
      .object({ request: duration().optional(), backendRequest: duration().optional() })
      .prefault({}),
    retry: retry.optional(),
  }),
  ['sessionPersistence'],
)

/** HTTPRoute spec (gateway.networking.k8s.io/v1). */
export const httpRouteSpec = unimplemented(
  z.object({
    parentRefs: z.array(parentRef).max(32).default([]),
    hostnames: z.array(name()).max(16).default([]),
    rules: z.array(rule).min(1).max(16).prefault([{}]),
  }),
  ['useDefaultGateways'],
)

/** A decoded HTTPRoute spec. */
export type HttpRouteSpec = z.infer<typeof httpRouteSpec>
/** A decoded rule of an HTTPRoute (HTTPRouteRule). */
export type HttpRouteRule = HttpRouteSpec['rules'][number]
