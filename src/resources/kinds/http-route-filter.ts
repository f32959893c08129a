// The filters of an HTTPRoute (Gateway API v1), discriminated by type.

import { z } from 'zod'
import { group, kind, name, namespace, port } from './fields.js'
import { unimplemented } from './unimplemented.js'

const header = z.object({ name: z.string().min(1).max(256), value: z.string().max(4096) })

const headerModifier = z.object({
  set: z.array(header).max(16).default([]),
  add: z.array(header).max(16).default([]),
  remove: z.array(z.string().min(1)).max(16).default([]),
})

const pathModifier = z.discriminatedUnion('type', [
  z.object({ type: z.literal('ReplaceFullPath'), replaceFullPath: z.string().max(1024) }),
  z.object({ type: z.literal('ReplacePrefixMatch'), replacePrefixMatch: z.string().max(1024) }),
])

const requestRedirect = z.object({
  scheme: z.enum(['http', 'https']).optional(),
  hostname: name().optional(),
  path: pathModifier.optional(),
  port: port().optional(),
  statusCode: z.literal([301, 302, 303, 307, 308]).default(302),
})

const cors = z.object({
  allowOrigins: z.array(z.string().min(1)).max(64).default([]),
  allowMethods: z
    .array(
      z.enum(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH', '*']),
    )
    .max(9)
    .default([]),
  allowHeaders: z.array(z.string().min(1)).max(64).default([]),
  exposeHeaders: z.array(z.string().min(1)).max(64).default([]),
  allowCredentials: z.boolean().default(false),
  /** How long a browser may cache the preflight response, in seconds. */
  maxAge: z.int().min(1).default(5),
})

/** The backend of copies, and their share: percent, or a fraction, or all. */
const requestMirror = z.object({
  backendRef: z.object({
    group: group().default(''),
    kind: kind().default('Service'),
    name: name(),
    namespace: namespace().optional(),
    port: port().optional(),
  }),
  percent: z.int().min(0).max(100).optional(),
  fraction: z
    .object({ numerator: z.int().min(0), denominator: z.int().min(1).default(100) })
    .optional(),
})

/** A decoded RequestMirror filter. */
export type MirrorSpec = z.infer<typeof requestMirror>

/** The last two types are recognised but not implemented: a rule with one of them cannot be served as written. */
export const httpRouteFilter = z.discriminatedUnion('type', [
  z.object({ type: z.literal('RequestHeaderModifier'), requestHeaderModifier: headerModifier }),
  z.object({ type: z.literal('ResponseHeaderModifier'), responseHeaderModifier: headerModifier }),
  z.object({ type: z.literal('RequestRedirect'), requestRedirect }),
  z.object({
    type: z.literal('URLRewrite'),
    urlRewrite: z.object({ hostname: name().optional(), path: pathModifier.optional() }),
  }),
  z.object({ type: z.literal('CORS'), cors }),
  z.object({ type: z.literal('RequestMirror'), requestMirror }),
  unimplemented(z.object({ type: z.literal('ExtensionRef') }), ['extensionRef']),
  unimplemented(z.object({ type: z.literal('ExternalAuth') }), ['externalAuth']),
])

/** A decoded filter of an HTTPRoute rule or backendRef. */
export type HttpRouteFilter = z.infer<typeof httpRouteFilter>
