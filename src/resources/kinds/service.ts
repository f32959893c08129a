// Service (core v1): the parts that tell where its endpoints are.

import { z } from 'zod'
import { port } from './fields.js'

/** Service spec (core v1), as far as it is read. */
export const serviceSpec = z.object({
  type: z.string().default('ClusterIP'),
  externalName: z.string().optional(),
  clusterIP: z.string().optional(),
  ports: z
    .array(
      z.object({
        /** "" when the Service has one port without a name; EndpointSlice ports have the same name. */
        name: z.string().default(''),
        port: port(),
        targetPort: z.union([port(), z.string()]).optional(),
        protocol: z.string().default('TCP'),
        appProtocol: z.string().optional(),
      }),
    )
    .default([]),
})

/** A decoded Service spec. */
export type ServiceSpec = z.infer<typeof serviceSpec>
