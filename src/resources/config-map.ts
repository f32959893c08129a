// ConfigMap (core v1): its texts.

import { z } from 'zod'

export const configMapData = z.object({ data: z.record(z.string(), z.string()).default({}) })

export type ConfigMapData = z.infer<typeof configMapData>
