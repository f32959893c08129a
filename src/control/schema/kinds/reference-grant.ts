// ReferenceGrant (Gateway API v1): which kinds in which namespaces may refer to resources of this namespace.

import { z } from 'zod'
import { group, kind, name, namespace } from './fields.js'

/** ReferenceGrant spec (gateway.networking.k8s.io). */
export const referenceGrantSpec = z.object({
  from: z
    .array(
      z.object({
        group: group().meta({
          description: 'API group of the resources that refer.',
          example: 'gateway.networking.k8s.io',
        }),
        kind: kind().meta({
          description: 'Kind of the resources that refer, such as HTTPRoute or ProxyPolicy.',
          example: 'HTTPRoute',
        }),
        namespace: namespace().meta({
          description: 'The namespace that they are in.',
          example: 'team',
        }),
      }),
    )
    .min(1)
    .max(16)
    .meta({ description: 'Who may refer to resources of this namespace.' }),
  to: z
    .array(
      z.object({
        group: group().meta({
          description: 'API group of the resources that may be named; "" is the core group.',
          example: '',
        }),
        kind: kind().meta({
          description: 'Kind of the resources that may be named, such as Service or Secret.',
          example: 'Service',
        }),
        name: name().optional().meta({
          description: 'The only resource that may be named; absent: all of the kind.',
          example: 'api',
        }),
      }),
    )
    .min(1)
    .max(16)
    .meta({ description: 'What they may refer to.' }),
})

/** A decoded ReferenceGrant spec. */
export type ReferenceGrantSpec = z.infer<typeof referenceGrantSpec>
