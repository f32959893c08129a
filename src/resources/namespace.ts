// Namespace (core v1): its labels, which listeners select by. They stand in its metadata; nothing else of it is read.

import { z } from 'zod'

export const namespaceData = z.object({})

export type NamespaceData = z.infer<typeof namespaceData>
