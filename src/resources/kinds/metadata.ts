// metadata of any resource: the few members that Gatehouse reads; all others are let be.

import { z } from 'zod'
import type { Metadata } from './resources.js'

const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'

/** Names become parts of table keys and Envoy names, joined by slashes: only Kubernetes' own characters will do. */
const objectMetadata = z.object({
  name: z
    .string()
    .max(253)
    .regex(
      new RegExp(`^${LABEL}(\\.${LABEL})*$`),
      'is not a name of lower-case letters, digits, "-" and "."',
    ),
  namespace: z
    .string()
    .max(63)
    .regex(new RegExp(`^${LABEL}$`), 'is not a namespace of lower-case letters, digits and "-"')
    .optional(),
  labels: z.record(z.string(), z.string()).nullish(),
  generation: z.int().nullish(),
  creationTimestamp: z.string().nullish(),
})

/** Metadata of a namespaced kind (metav1.ObjectMeta); the namespace is "default" where none is written. */
export const namespacedMetadata = objectMetadata.transform((read) => decoded(read, 'default'))

/** Metadata of a cluster-scoped kind; a namespace that is written is ignored. */
export const clusterMetadata = objectMetadata.transform(({ namespace: _, ...read }) =>
  decoded(read, ''),
)

function decoded(read: z.output<typeof objectMetadata>, defaultNamespace: string): Metadata {
  const creationTimestamp = Date.parse(read.creationTimestamp ?? '')
  return {
    namespace: read.namespace ?? defaultNamespace,
    name: read.name,
    labels: read.labels ?? {},
    ...(typeof read.generation === 'number' && { generation: read.generation }),
    ...(!Number.isNaN(creationTimestamp) && { creationTimestamp }),
  }
}
