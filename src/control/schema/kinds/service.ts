// Service (core v1): the fields that locate its endpoints, and its own addresses.

import { z } from 'zod'
import { port } from './fields.js'

const serviceSpec = z.object({
  type: z.string().default('ClusterIP'),
  externalName: z.string().optional(),
  clusterIP: z.string().optional(),
  externalIPs: z.array(z.string()).default([]),
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

const serviceStatus = z.object({
  loadBalancer: z
    .object({
      ingress: z
        .array(z.object({ ip: z.string().optional(), hostname: z.string().optional() }))
        .default([]),
    })
    .prefault({}),
})

/** Service (core v1): the fields that Gatehouse reads. */
export const serviceData = z
  .object({ spec: serviceSpec, status: serviceStatus.prefault({}) })
  .transform(({ spec, status }) => ({
    ...spec,
    /** Addresses of its load balancer, from its status. */
    ingress: status.loadBalancer.ingress,
  }))

/** A decoded Service: its spec, and the addresses of its load balancer. */
export type ServiceSpec = z.infer<typeof serviceData>
