// ConfigMap, Namespace and Secret (core v1), as far as Gatehouse reads them.

import { z } from 'zod'

export const configMapData = z.object({ data: z.record(z.string(), z.string()).default({}) })

export type ConfigMapData = z.infer<typeof configMapData>

export const namespaceData = z.object({})

export type NamespaceData = z.infer<typeof namespaceData>

const text = z
  .string()
  .regex(/^[A-Za-z0-9+/\s]*(?:={1,2}\s*)?$/, 'is not base64')
  .transform((base64) => Buffer.from(base64, 'base64').toString('utf8'))

export const secretData = z
  .object({
    type: z.string().default('Opaque'),
    data: z.record(z.string(), text).default({}),
    stringData: z.record(z.string(), z.string()).default({}),
  })
  .transform(({ type, data, stringData }) => ({ type, data: { ...data, ...stringData } }))

/** data: as text, with stringData over it (as the API server does). */
export type SecretData = z.infer<typeof secretData>
