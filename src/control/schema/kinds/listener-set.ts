// ListenerSet (Gateway API v1): further listeners of a Gateway, also from other namespaces.

import { z } from 'zod'
import { GATEWAY_API_GROUP, group, kind, name, namespace } from './fields.js'
import { listener } from './gateway.js'

/** ListenerSet spec (gateway.networking.k8s.io/v1). */
export const listenerSetSpec = z.object({
  parentRef: z
    .object({
      group: group()
        .default(GATEWAY_API_GROUP)
        .meta({ description: 'API group of the Gateway.', since: '0.2.0' }),
      kind: kind().default('Gateway').meta({ description: 'Gateway.', since: '0.2.0' }),
      name: name().meta({
        description: 'Name of the Gateway.',
        example: 'gateway',
        since: '0.2.0',
      }),
      namespace: namespace().optional().meta({
        description: 'Namespace of the Gateway; absent: this one.',
        example: 'platform',
        since: '0.2.0',
      }),
    })
    .meta({
      description:
        'The Gateway that the listeners are added to. Its allowedListeners must let this namespace in.',
      since: '0.2.0',
    }),
  listeners: z
    .array(listener)
    .min(1)
    .max(64)
    .meta({ description: 'The added listeners.', since: '0.2.0' }),
})

/** A decoded ListenerSet spec. */
export type ListenerSetSpec = z.infer<typeof listenerSetSpec>
