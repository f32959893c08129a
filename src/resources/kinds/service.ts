// Service (core v1): the fields that locate its endpoints.

import { z } from 'zod'
import { port } from './fields.js'

/** Service spec (core v1): the fields that Gatehouse reads. */
export const serviceSpec = z.object({
  type: z.string().default('ClusterIP'),
  externalName: z.string().optional(),
  clusterIP: z.string().optional(),
  ports: z
    .array(
      z.object({
        /** Name of the port, "" if the only port has none. EndpointSlice ports use the same name. */
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
