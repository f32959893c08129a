// GatewayClass (Gateway API v1).

import { z } from 'zod'
import { group, kind, name, namespace } from './fields.js'

/** GatewayClass spec (gateway.networking.k8s.io/v1). */
export const gatewayClassSpec = z.object({
  controllerName: name().meta({
    description:
      'The controller that serves Gateways of this class; that of Gatehouse is its API group and /gatehouse.',
    example: 'policy.gatehouse.dev/gatehouse',
  }),
  parametersRef: z
    .object({
      group: group().meta({
        description: 'API group of the parameters.',
        example: 'policy.gatehouse.dev',
      }),
      kind: kind().meta({ description: 'ProxyParameters.', example: 'ProxyParameters' }),
      name: name().meta({ description: 'Name of the parameters.', example: 'default' }),
      namespace: namespace().optional().meta({
        description: 'Namespace of the parameters, which are namespaced.',
        example: 'gatehouse-system',
      }),
    })
    .optional()
    .meta({ description: 'ProxyParameters for all Gateways of the class.' }),
  description: z.string().optional().meta({
    description: 'What the class is for. Gatehouse does not use it.',
    example: 'Envoys with Gatehouse',
  }),
})

/** A decoded GatewayClass spec. */
export type GatewayClassSpec = z.infer<typeof gatewayClassSpec>
