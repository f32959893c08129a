// ReferenceGrant (Gateway API v1): which kinds in which namespaces may refer to resources of this namespace.

import { z } from 'zod'
import { group, kind, name, namespace } from './fields.js'

/** ReferenceGrant spec (gateway.networking.k8s.io). */
export const referenceGrantSpec = z.object({
  from: z
    .array(z.object({ group: group(), kind: kind(), namespace: namespace() }))
    .min(1)
    .max(16),
  to: z
    .array(z.object({ group: group(), kind: kind(), name: name().optional() }))
    .min(1)
    .max(16),
})

/** A decoded ReferenceGrant spec. */
export type ReferenceGrantSpec = z.infer<typeof referenceGrantSpec>
