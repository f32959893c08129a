// The filters of an HTTPRoute (Gateway API v1), discriminated by type.

import { z } from 'zod'
import { group, kind, name, namespace, port } from './fields.js'
import { unimplemented } from './unimplemented.js'

const header = z.object({
  name: z
    .string()
    .min(1)
    .max(256)
    .meta({ description: 'Name of the header.', example: 'x-tenant' }),
  value: z.string().max(4096).meta({ description: 'Value of the header.', example: 'blue' }),
})

const headerModifier = z.object({
  set: z
    .array(header)
    .max(16)
    .default([])
    .meta({ description: 'Headers that replace those of the same name.' }),
  add: z
    .array(header)
    .max(16)
    .default([])
    .meta({ description: 'Headers that are added to those of the same name.' }),
  remove: z
    .array(z.string().min(1))
    .max(16)
    .default([])
    .meta({ description: 'Names of headers that are removed.', example: ['x-debug'] }),
})

const pathModifier = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('ReplaceFullPath').meta({
      description:
        "ReplaceFullPath: the whole path is replaced. ReplacePrefixMatch: the part that the rule's PathPrefix matched.",
      example: 'ReplacePrefixMatch',
    }),
    replaceFullPath: z
      .string()
      .max(1024)
      .meta({ description: 'The new path; with type ReplaceFullPath.', example: '/v2/mcp' }),
  }),
  z.object({
    type: z.literal('ReplacePrefixMatch'),
    replacePrefixMatch: z
      .string()
      .max(1024)
      .meta({ description: 'The new prefix; with type ReplacePrefixMatch.', example: '/v2' }),
  }),
])

const requestRedirect = z.object({
  scheme: z
    .enum(['http', 'https'])
    .optional()
    .meta({ description: 'Scheme of the new address; absent: that of the request.' }),
  hostname: name().optional().meta({
    description: 'Host name of the new address; absent: that of the request.',
    example: 'www.example.com',
  }),
  path: pathModifier
    .optional()
    .meta({ description: 'Path of the new address; absent: that of the request.' }),
  port: port().optional().meta({
    description: 'Port of the new address; absent: that of the scheme, or of the listener.',
    example: 8443,
  }),
  statusCode: z
    .literal([301, 302, 303, 307, 308])
    .default(302)
    .meta({ description: 'Status of the answer.', example: 301 }),
})

const cors = z.object({
  allowOrigins: z
    .array(z.string().min(1))
    .max(64)
    .default([])
    .meta({
      description:
        'Origins whose pages may call the route; * means all, or the first part of a host name.',
      example: ['https://app.example.com'],
    }),
  allowMethods: z
    .array(
      z.enum(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH', '*']),
    )
    .max(9)
    .default([])
    .meta({ description: 'Methods that pages may use.', example: ['GET', 'POST'] }),
  allowHeaders: z
    .array(z.string().min(1))
    .max(64)
    .default([])
    .meta({
      description: 'Request headers that pages may set; * means all.',
      example: ['authorization', 'content-type'],
    }),
  exposeHeaders: z
    .array(z.string().min(1))
    .max(64)
    .default([])
    .meta({
      description: 'Response headers that pages may read; * means all.',
      example: ['mcp-session-id'],
    }),
  allowCredentials: z
    .boolean()
    .default(false)
    .meta({ description: 'Whether pages may send cookies and the like.' }),
  maxAge: z.int().min(1).default(5).meta({
    description: 'How long a browser may cache the answer to a preflight request, in seconds.',
    example: 600,
  }),
})

/** The backend of copies, and their share: percent, or a fraction, or all. */
const requestMirror = z.object({
  backendRef: z
    .object({
      group: group().default('').meta({
        description:
          'API group of the backend: "" for a Service, the policy API group for a ProxyBackend.',
        since: '0.2.0',
      }),
      kind: kind()
        .default('Service')
        .meta({ description: 'Service or ProxyBackend.', since: '0.2.0' }),
      name: name().meta({ description: 'Name of the backend.', example: 'shadow', since: '0.2.0' }),
      namespace: namespace().optional().meta({
        description:
          'Namespace of the backend; absent: this one. Another one needs a ReferenceGrant there.',
        example: 'team',
        since: '0.2.0',
      }),
      port: port().optional().meta({
        description: 'Port of the Service, which requires one.',
        example: 80,
        since: '0.2.0',
      }),
    })
    .meta({
      description: 'The backend that gets copies of requests; its answers are dropped.',
      since: '0.2.0',
    }),
  percent: z.int().min(0).max(100).optional().meta({
    description: 'Share of the requests that are copied, in percent; without it and fraction: all.',
    example: 10,
    since: '0.2.0',
  }),
  fraction: z
    .object({
      numerator: z.int().min(0).meta({
        description: 'How many of every denominator requests are copied.',
        example: 1,
        since: '0.2.0',
      }),
      denominator: z
        .int()
        .min(1)
        .default(100)
        .meta({ description: 'See numerator.', example: 1000, since: '0.2.0' }),
    })
    .optional()
    .meta({ description: 'A finer share than percent.', since: '0.2.0' }),
})

/** A decoded RequestMirror filter. */
export type MirrorSpec = z.infer<typeof requestMirror>

/** The last two types are recognised but not implemented: a rule with one of them cannot be served as written. */
export const httpRouteFilter = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('RequestHeaderModifier').meta({
      description:
        'The type of the filter; the member of the same name has its settings. ExtensionRef and ExternalAuth are not implemented.',
      example: 'RequestRedirect',
    }),
    requestHeaderModifier: headerModifier.meta({
      description: 'Changes headers of requests; with type RequestHeaderModifier.',
    }),
  }),
  z.object({
    type: z.literal('ResponseHeaderModifier'),
    responseHeaderModifier: headerModifier.meta({
      description: 'Changes headers of answers; with type ResponseHeaderModifier.',
    }),
  }),
  z.object({
    type: z.literal('RequestRedirect'),
    requestRedirect: requestRedirect.meta({
      description: 'Answers with another address; with type RequestRedirect.',
    }),
  }),
  z.object({
    type: z.literal('URLRewrite'),
    urlRewrite: z
      .object({
        hostname: name()
          .optional()
          .meta({ description: 'The Host that the backend gets.', example: 'api.internal' }),
        path: pathModifier.optional().meta({ description: 'The path that the backend gets.' }),
      })
      .meta({
        description: 'Changes host or path before the request is sent on; with type URLRewrite.',
      }),
  }),
  z.object({
    type: z.literal('CORS'),
    cors: cors.meta({ description: 'What pages of other origins may do; with type CORS.' }),
  }),
  z.object({
    type: z.literal('RequestMirror'),
    requestMirror: requestMirror.meta({
      description: 'Copies requests to another backend; with type RequestMirror.',
      since: '0.2.0',
    }),
  }),
  unimplemented(z.object({ type: z.literal('ExtensionRef') }), ['extensionRef']),
  unimplemented(z.object({ type: z.literal('ExternalAuth') }), ['externalAuth']),
])

/** A decoded filter of an HTTPRoute rule or backendRef. */
export type HttpRouteFilter = z.infer<typeof httpRouteFilter>
