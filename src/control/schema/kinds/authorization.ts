// traffic.authorization of a ProxyPolicy: rules over a request, and the scopes that its token must have.

import { z } from 'zod'

/** A scope (RFC 6749 section 3.3). offline_access asks for a refresh token and appears in no access token. */
const scope = (): z.ZodType<string> =>
  z
    .string()
    .max(256)
    .regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'is not a scope')
    .refine((text) => text !== 'offline_access', 'offline_access is no scope of a resource')

const requiredScopes = z.object({
  scopes: z
    .array(scope())
    .min(1)
    .max(64)
    .describe('All of them must be in the scope or scp of the token.')
    .meta({ example: ['files:write'] }),
  when: z
    .string()
    .min(1)
    .max(16_384)
    .optional()
    .describe('A CEL expression: the requests that need them. Absent: every request.')
    .meta({ example: 'mcp.tool.name == "write_file"' }),
  impliedBy: z
    .array(scope())
    .max(64)
    .default([])
    .describe('A token with any of these needs none of scopes.')
    .meta({ example: ['admin'] }),
})

/** ProxyPolicy traffic.authorization (specification: spec.traffic.authorization). */
export const authorization = z.object({
  action: z
    .enum(['Allow', 'Deny', 'Require'])
    .default('Allow')
    .describe(
      'Allow: one true expression allows the request. Deny: one denies it. Require: all must be true.',
    ),
  policy: z
    .object({
      matchExpressions: z
        .array(z.string().max(16_384))
        .max(256)
        .default([])
        .describe(
          'CEL expressions over jwt (the claims of the token), request, source and mcp. May be left out beside requiredScopes.',
        )
        .meta({ example: ['"mcp-users" in jwt.groups'] }),
      requiredScopes: z
        .array(requiredScopes)
        .max(64)
        .optional()
        .describe(
          'Scopes that the token must have, checked after the rules. A request that lacks one gets 403 (insufficient_scope) with all of them, and its client may log in again for these. Needs jwtAuthentication.',
        )
        .meta({
          example: [{ scopes: ['files:write'], when: 'mcp.tool.name == "write_file"' }],
          since: '0.2.0',
        }),
    })
    .describe('The rules.'),
})
