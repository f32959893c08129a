// HTTPRoute (Gateway API v1, experimental channel): where requests are routed and how they are modified.

import { z } from 'zod'
import { duration, GATEWAY_API_GROUP, group, kind, name, namespace, port } from './fields.js'
import { httpRouteFilter } from './http-route-filter.js'
import { unimplemented } from './unimplemented.js'

const parentRef = z.object({
  group: group().default(GATEWAY_API_GROUP).meta({
    description:
      'API group of the parent; "" for a Service, which belongs to a service mesh and is not served.',
  }),
  kind: kind().default('Gateway').meta({ description: 'Gateway or ListenerSet.' }),
  namespace: namespace()
    .optional()
    .meta({ description: 'Namespace of the parent; absent: this one.', example: 'platform' }),
  name: name().meta({ description: 'Name of the parent.', example: 'gateway' }),
  sectionName: name().optional().meta({
    description: 'The only listener of the parent that serves the route; absent: all that match.',
    example: 'https',
  }),
  port: port().optional().meta({
    description: 'The only port of the parent that serves the route; absent: all.',
    example: 443,
  }),
})

const valueMatch = z.object({
  type: z.enum(['Exact', 'RegularExpression']).default('Exact').meta({
    description: 'How value is compared. A regular expression (RE2) must match the whole value.',
  }),
  name: z.string().min(1).max(256).meta({
    description: 'Name of the header, in any case, or of the query parameter.',
    example: 'x-tenant',
  }),
  value: z
    .string()
    .min(1)
    .max(4096)
    .meta({ description: 'The value, or a regular expression for it.', example: 'blue' }),
})

const queryMatch = valueMatch.extend({
  value: z
    .string()
    .min(1)
    .max(1024)
    .meta({ description: 'The value, or a regular expression for it.', example: 'blue' }),
})

const match = z.object({
  path: z
    .object({
      type: z.enum(['Exact', 'PathPrefix', 'RegularExpression']).default('PathPrefix').meta({
        description:
          'PathPrefix matches whole segments: /mcp matches /mcp and /mcp/x, not /mcpx. RegularExpression (RE2, the whole path) since 0.2.0.',
      }),
      value: z
        .string()
        .max(1024)
        .default('/')
        .meta({ description: 'The path, without a query; begins with a slash.', example: '/mcp' }),
    })
    .prefault({})
    .meta({ description: 'What the path must be.' }),
  headers: z
    .array(valueMatch)
    .max(16)
    .default([])
    .meta({ description: 'Headers that the request must all have.' }),
  queryParams: z
    .array(queryMatch)
    .max(16)
    .default([])
    .meta({ description: 'Query parameters that the request must all have.' }),
  method: z
    .enum(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH'])
    .optional()
    .meta({ description: 'The only method that matches; absent: all.', example: 'POST' }),
})

const backendRef = z.object({
  group: group().default('').meta({
    description:
      'API group of the backend: "" for a Service, the policy API group for a ProxyBackend.',
  }),
  kind: kind().default('Service').meta({ description: 'Service or ProxyBackend.' }),
  name: name().meta({ description: 'Name of the backend.', example: 'api' }),
  namespace: namespace().optional().meta({
    description:
      'Namespace of the backend; absent: this one. Another one needs a ReferenceGrant there.',
    example: 'team',
  }),
  port: port().optional().meta({
    description: 'Port of the Service, which requires one; for a ProxyBackend, its own.',
    example: 80,
  }),
  weight: z.int().min(0).max(1_000_000).default(1).meta({
    description: 'Share of the requests, relative to the sum of all weights; 0: none.',
    example: 9,
  }),
  filters: z.array(httpRouteFilter).max(16).default([]).meta({
    description: 'Filters for the requests to this backend, as in the filters of the rule.',
  }),
})

const retry = z.object({
  codes: z
    .array(z.int().min(400).max(599))
    .max(64)
    .default([])
    .meta({
      description: 'Statuses that are retried, besides failed connections and tries that time out.',
      example: [503],
      since: '0.2.0',
    }),
  attempts: z
    .int()
    .min(0)
    .max(100)
    .optional()
    .meta({ description: 'Maximum number of retries, 1 when absent.', example: 2, since: '0.2.0' }),
  backoff: duration().optional().meta({
    description: 'Pause before the first retry; it then doubles, up to ten times its value.',
    example: '100ms',
    since: '0.2.0',
  }),
})

const rule = unimplemented(
  z.object({
    name: name().optional().meta({
      description: 'Name of the rule, which sectionName of a policy refers to.',
      example: 'tools',
    }),
    matches: z.array(match).max(64).prefault([{}]).meta({
      description:
        'The rule serves requests that match one of these; the most specific match of all routes decides.',
    }),
    filters: z.array(httpRouteFilter).max(16).default([]).meta({
      description:
        'What is done to requests and answers. A type that is not implemented (ExtensionRef, ExternalAuth) closes the rule.',
    }),
    backendRefs: z
      .array(backendRef)
      .max(16)
      .default([])
      .meta({ description: 'The backends; none: 500, unless a filter redirects.' }),
    timeouts: z
      .object({
        request: duration().optional().meta({
          description: 'Time for the whole answer, retries included; 0s: no limit.',
          example: '30s',
        }),
        backendRequest: duration()
          .optional()
          .meta({ description: 'Time for one try; at most that of request.', example: '10s' }),
      })
      .prefault({})
      .meta({ description: 'Time limits. A streamed answer that takes longer breaks off.' }),
    retry: retry.optional().meta({
      description: 'Requests that are sent again when the backend fails.',
      since: '0.2.0',
    }),
  }),
  ['sessionPersistence'],
)

/** HTTPRoute spec (gateway.networking.k8s.io/v1). */
export const httpRouteSpec = unimplemented(
  z.object({
    parentRefs: z
      .array(parentRef)
      .max(32)
      .default([])
      .meta({ description: 'The Gateways and ListenerSets that serve the route.' }),
    hostnames: z
      .array(name())
      .max(16)
      .default([])
      .meta({
        description:
          'Host names of the route, also with a first label *; none: those of its listeners.',
        example: ['mcp.example.com'],
      }),
    rules: z
      .array(rule)
      .min(1)
      .max(16)
      .prefault([{}])
      .meta({ description: 'What is done with which requests.' }),
  }),
  ['useDefaultGateways'],
)

/** A decoded HTTPRoute spec. */
export type HttpRouteSpec = z.infer<typeof httpRouteSpec>
/** A decoded rule of an HTTPRoute (HTTPRouteRule). */
export type HttpRouteRule = HttpRouteSpec['rules'][number]
