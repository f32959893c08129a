// The metadata fields that Gatehouse reads; all others are ignored.

import { z } from 'zod'
import type { Metadata } from './resources.js'

const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'

/**
 * Names become parts of table keys and Envoy names, joined by slashes, so only Kubernetes' own characters are valid.
 */
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

/** Metadata of a namespaced kind (metav1.ObjectMeta); the namespace defaults to "default". */
export const namespacedMetadata = objectMetadata.transform((read) => decoded(read, 'default'))

/** Metadata of a cluster-scoped kind; any namespace in the document is ignored. */
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
