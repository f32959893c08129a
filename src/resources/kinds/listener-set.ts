// ListenerSet (Gateway API v1): further listeners of a Gateway, also from other namespaces.

import { z } from 'zod'
import { GATEWAY_API_GROUP, group, kind, name, namespace } from './fields.js'
import { listener } from './gateway.js'

/** ListenerSet spec (gateway.networking.k8s.io/v1). */
export const listenerSetSpec = z.object({
  parentRef: z.object({
    group: group().default(GATEWAY_API_GROUP),
    kind: kind().default('Gateway'),
    name: name(),
    namespace: namespace().optional(),
  }),
  listeners: z.array(listener).min(1).max(64),
})

/** A decoded ListenerSet spec. */
export type ListenerSetSpec = z.infer<typeof listenerSetSpec>
