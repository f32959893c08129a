// ProxyBackend: a host outside the cluster, used by routes and to fetch the keys of identity providers.

import { z } from 'zod'
import { port } from './fields.js'

/** ProxyBackend spec (specification: ProxyBackend). */
export const proxyBackendSpec = z.object({
  static: z
    .object({
      host: z
        .string()
        .min(1)
        .max(253)
        .regex(
          /^([A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*|[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*)$/,
          'is not a host name or an IP address (without scheme, brackets, port or path)',
        )
        .describe('Host name or IP address.')
        .meta({ example: 'idp.example' }),
      port: port().describe('TCP port.').meta({ example: 443 }),
    })
    .describe('A fixed address.'),
})

/** A decoded ProxyBackend spec. */
export type ProxyBackendSpec = z.infer<typeof proxyBackendSpec>
