// Gateway (Gateway API v1): the listeners that Envoy binds, and which routes may attach to them.

import { z } from 'zod'
import { GATEWAY_API_GROUP, group, kind, name, port } from './fields.js'
import { gatewayTls, listenerTls } from './gateway-tls.js'
import { unimplemented } from './unimplemented.js'

const labelSelector = z.object({
  matchLabels: z
    .record(z.string(), z.string())
    .default({})
    .meta({ description: 'Labels that the namespace must all have.', example: { team: 'blue' } }),
  matchExpressions: z
    .array(
      z.object({
        key: z.string().min(1).meta({ description: 'Name of a label.', example: 'team' }),
        // The API server also accepts other values; a condition reports them.
        operator: z.string().meta({
          description: 'How the label is compared with values, or whether it exists.',
          values: ['In', 'NotIn', 'Exists', 'DoesNotExist'],
          example: 'In',
        }),
        values: z
          .array(z.string())
          .default([])
          .meta({ description: 'Values for In and NotIn.', example: ['blue', 'green'] }),
      }),
    )
    .default([])
    .meta({ description: 'Conditions for labels that must all hold.' }),
})

/** A decoded label selector (metav1.LabelSelector). */
export type LabelSelector = z.infer<typeof labelSelector>

const allowedRoutes = z.object({
  namespaces: z
    .object({
      from: z.enum(['All', 'Selector', 'Same']).default('Same').meta({
        description: 'All namespaces, those that selector selects, or that of the listener.',
      }),
      selector: labelSelector
        .optional()
        .meta({ description: 'Which namespaces, by their labels; with from Selector.' }),
    })
    .prefault({})
    .meta({ description: 'The namespaces whose routes may attach.' }),
  kinds: z
    .array(
      z.object({
        group: group().default(GATEWAY_API_GROUP).meta({ description: 'API group of the routes.' }),
        kind: kind().meta({
          description: 'HTTPRoute, the only kind that is served.',
          example: 'HTTPRoute',
        }),
      }),
    )
    .max(8)
    .default([])
    .meta({ description: 'The kinds of routes that may attach; none: all that are served.' }),
})

/** Schema of a listener of a Gateway or of a ListenerSet. */
export const listener = z.object({
  name: name().meta({
    description: 'Name of the listener, which sectionName of routes and policies refers to.',
    example: 'https',
  }),
  hostname: name().optional().meta({
    description: 'The only host name that is served, also with a first label *; absent: all.',
    example: 'mcp.example.com',
  }),
  port: port().meta({ description: 'The port that Envoy binds.', example: 8443 }),
  protocol: z
    .string()
    .min(1)
    .max(255)
    .meta({ description: 'HTTP or HTTPS; other protocols are refused.', example: 'HTTPS' }),
  tls: unimplemented(listenerTls, ['options'])
    .optional()
    .meta({ description: 'The certificates of an HTTPS listener, which requires some.' }),
  allowedRoutes: allowedRoutes.prefault({}).meta({ description: 'Which routes may attach.' }),
})

const allowedListeners = z.object({
  namespaces: z
    .object({
      from: z.enum(['All', 'Selector', 'Same', 'None']).default('None').meta({
        description: 'All namespaces, those that selector selects, that of the Gateway, or none.',
        example: 'Same',
        since: '0.2.0',
      }),
      selector: labelSelector.optional().meta({
        description: 'Which namespaces, by their labels; with from Selector.',
        since: '0.2.0',
      }),
    })
    .prefault({})
    .meta({ description: 'The namespaces whose ListenerSets may add listeners.', since: '0.2.0' }),
})

/** Gateway spec (gateway.networking.k8s.io/v1). */
export const gatewaySpec = unimplemented(
  z.object({
    gatewayClassName: name().meta({
      description:
        "The GatewayClass; one that another controller serves makes the Gateway none of Gatehouse's.",
      example: 'gatehouse',
    }),
    listeners: z
      .array(listener)
      .min(1)
      .max(64)
      .meta({ description: 'The ports that Envoy binds, with their host names.' }),
    addresses: z
      .array(
        z.object({
          type: z
            .string()
            .min(1)
            .max(253)
            .default('IPAddress')
            .meta({ description: 'IPAddress or Hostname.', since: '0.2.0' }),
          value: z.string().max(253).default('').meta({
            description: 'The address; "": any of the type.',
            example: '192.0.2.7',
            since: '0.2.0',
          }),
        }),
      )
      .max(16)
      .default([])
      .meta({
        description: 'Which of the addresses of its Envoys the status lists; none: all.',
        since: '0.2.0',
      }),
    tls: gatewayTls
      .optional()
      .meta({ description: 'TLS of all listeners, and towards backends.', since: '0.2.0' }),
    allowedListeners: allowedListeners
      .optional()
      .meta({ description: 'Which ListenerSets may add listeners; absent: none.', since: '0.2.0' }),
    infrastructure: z
      .object({
        parametersRef: z
          .object({
            group: group().meta({
              description: 'API group of the parameters.',
              example: 'policy.gatehouse.dev',
            }),
            kind: kind().meta({ description: 'ProxyParameters.', example: 'ProxyParameters' }),
            name: name().meta({
              description: 'Name of the parameters, in the namespace of the Gateway.',
              example: 'default',
            }),
          })
          .optional()
          .meta({
            description:
              'ProxyParameters for this Gateway, in place of those of its class; requirePolicy of either counts.',
          }),
        labels: z
          .record(z.string(), z.string())
          .optional()
          .meta({
            description:
              'Labels of the objects that Gatehouse creates for the Gateway; with a prefix, of the Service alone.',
            example: { team: 'shop' },
            since: '0.2.0',
          }),
        annotations: z
          .record(z.string(), z.string())
          .optional()
          .meta({
            description:
              'Annotations of the objects that Gatehouse creates for the Gateway; with a prefix, of the Service alone.',
            example: { 'example.com/internal': 'yes' },
            since: '0.2.0',
          }),
      })
      .optional()
      .meta({ description: "Settings of the Gateway's own Envoys." }),
  }),
  ['defaultScope'],
)

/** A decoded Gateway spec. */
export type GatewaySpec = z.infer<typeof gatewaySpec>
