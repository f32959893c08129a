// ProxyParameters: proxy limits, referenced by a Gateway or its GatewayClass through parametersRef.

import { z } from 'zod'
import { name } from './fields.js'

/** An amount of a resource (Quantity), as text. */
const quantity = () =>
  z
    .string()
    .max(32)
    .regex(
      /^[0-9]{1,15}(\.[0-9]{1,9})?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$/,
      'is not an amount such as 250m, 2 or 512Mi',
    )

const computeResources = () =>
  z.object({
    cpu: quantity()
      .optional()
      .describe('Processors, as text.')
      .meta({ example: '500m', since: '0.2.0' }),
    memory: quantity().optional().describe('Memory.').meta({ example: '512Mi', since: '0.2.0' }),
  })

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
      image: z
        .string()
        .min(1)
        .max(1024)
        .regex(/^\S+$/, 'must be the name of an image')
        .optional()
        .describe(
          'Image of the Envoys that Gatehouse creates (--provision), in parameters of a GatewayClass only; absent: envoyproxy/envoy:v1.40-latest.',
        )
        .meta({ example: 'registry.example/envoy:v1.40.0', since: '0.2.0' }),
      serviceType: z
        .enum(['ClusterIP', 'NodePort', 'LoadBalancer'])
        .optional()
        .describe(
          'Type of the Services that Gatehouse creates for Envoys, in parameters of a GatewayClass only; absent: LoadBalancer.',
        )
        .meta({ example: 'ClusterIP', since: '0.2.0' }),
      replicas: z
        .int()
        .min(1)
        .max(100)
        .optional()
        .describe(
          'Number of Envoys that Gatehouse creates for each Gateway; absent: 1, or what an autoscaler sets.',
        )
        .meta({ example: 2, since: '0.2.0' }),
      resources: z
        .object({
          requests: computeResources()
            .optional()
            .describe('What is reserved for each Envoy.')
            .meta({ since: '0.2.0' }),
          limits: computeResources()
            .optional()
            .describe('What each Envoy may use at most.')
            .meta({ since: '0.2.0' }),
        })
        .optional()
        .describe(
          'Resources of each Envoy that Gatehouse creates; absent: requests of 250m and 256Mi, and a memory limit of 1Gi.',
        )
        .meta({ since: '0.2.0' }),
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
