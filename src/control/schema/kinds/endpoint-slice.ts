// EndpointSlice (discovery.k8s.io/v1). The label kubernetes.io/service-name names its Service.

import { z } from 'zod'
import { port } from './fields.js'

/** The label of an EndpointSlice that names its Service (discovery.k8s.io/v1). */
export const SERVICE_NAME_LABEL = 'kubernetes.io/service-name'

/** EndpointSlice (discovery.k8s.io/v1). */
export const endpointSliceData = z.object({
  addressType: z.enum(['IPv4', 'IPv6', 'FQDN']),
  endpoints: z
    .array(
      z.object({
        addresses: z.array(z.string().min(1)).min(1),
        conditions: z
          .object({
            /** Absent means ready. */
            ready: z.boolean().default(true),
            serving: z.boolean().optional(),
            terminating: z.boolean().optional(),
          })
          .prefault({}),
      }),
    )
    .default([]),
  ports: z
    .array(
      z.object({
        name: z.string().default(''),
        /** Absent: all ports. */
        port: port().optional(),
        protocol: z.string().default('TCP'),
        appProtocol: z.string().optional(),
      }),
    )
    .default([]),
})

/** A decoded EndpointSlice. */
export type EndpointSliceData = z.infer<typeof endpointSliceData>
