// ConfigMap, Namespace and Secret (core v1), as far as Gatehouse reads them.

import { isUtf8 } from 'node:buffer'
import { z } from 'zod'

/** ConfigMap (core v1), as far as it is read. */
export const configMapData = z.object({ data: z.record(z.string(), z.string()).default({}) })

/** A decoded ConfigMap. */
export type ConfigMapData = z.infer<typeof configMapData>

/** Namespace (core v1): nothing but its labels is read, which are metadata. */
export const namespaceData = z.object({})

/** A decoded Namespace. */
export type NamespaceData = z.infer<typeof namespaceData>

const text = z
  .string()
  .regex(/^[A-Za-z0-9+/\s]*(?:={1,2}\s*)?$/, 'is not base64')
  .transform((base64) => {
    const bytes = Buffer.from(base64, 'base64')
    return bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1')
  })

/** Secret (core v1): data from base64, with stringData over it. */
export const secretData = z
  .object({
    type: z.string().default('Opaque'),
    data: z.record(z.string(), text).default({}),
    stringData: z.record(z.string(), z.string()).default({}),
  })
  .transform(({ type, data, stringData }) => ({ type, data: { ...data, ...stringData } }))

/** data: as text (Latin-1 where it is not UTF-8, so that no byte is lost), with stringData over it (as the API server does). */
export type SecretData = z.infer<typeof secretData>
