// ProxyParameters: proxy limits, referenced by a Gateway or its GatewayClass through parametersRef.

import { z } from 'zod'
import { name } from './fields.js'

/** ProxyParameters spec (specification: ProxyParameters). */
export const proxyParametersSpec = z.object({
  env: z
    .array(
      z.object({
        name: z
          .string()
          .min(1)
          .max(256)
          .describe('Name of the variable.')
          .meta({ example: 'GUARDRAIL_WEBHOOK_MAX_CONNECTIONS' }),
        value: z
          .string()
          .max(4096)
          .describe('Its value: a number, as text.')
          .meta({ example: '200' }),
      }),
    )
    .max(64)
    .default([])
    .describe(
      'GUARDRAIL_WEBHOOK_MAX_CONNECTIONS (100; 0: no limit) and GUARDRAIL_WEBHOOK_KEEPALIVE_SECONDS (300; 0: as long as the server does).',
    ),
  envoys: z
    .object({
      serviceName: name()
        .describe(
          "Name of the Service that leads to the Envoys, in the namespace of these parameters. Its addresses are in the Gateway's status.",
        )
        .meta({ example: 'gatehouse-envoys', since: '0.2.0' })
        .optional(),
    })
    .optional()
    .describe('The Envoys that serve the Gateways.')
    .meta({ since: '0.2.0' }),
  requirePolicy: z
    .boolean()
    .optional()
    .describe(
      'A route of the Gateway without a policy that decides who may use it answers 503; absent: false. As the setting --require-policy, for the Gateways that name these parameters, themselves or by their GatewayClass.',
    )
    .meta({ example: true, since: '0.2.0' }),
})

/** A decoded ProxyParameters spec. */
export type ProxyParametersSpec = z.infer<typeof proxyParametersSpec>
