// GatewayClass (Gateway API v1).

import { z } from 'zod'
import { group, kind, name, namespace } from './fields.js'

/** GatewayClass spec (gateway.networking.k8s.io/v1). */
export const gatewayClassSpec = z.object({
  controllerName: name(),
  parametersRef: z
    .object({ group: group(), kind: kind(), name: name(), namespace: namespace().optional() })
    .optional(),
  description: z.string().optional(),
})

/** A decoded GatewayClass spec. */
export type GatewayClassSpec = z.infer<typeof gatewayClassSpec>
