// The fields of ConfigMap, Namespace and Secret (core v1) that Gatehouse reads.

import { isUtf8 } from 'node:buffer'
import { z } from 'zod'

/** ConfigMap (core v1): the fields that Gatehouse reads. */
export const configMapData = z.object({ data: z.record(z.string(), z.string()).default({}) })

/** A decoded ConfigMap. */
export type ConfigMapData = z.infer<typeof configMapData>

/** Namespace (core v1): Gatehouse reads only the labels, which are part of the metadata. */
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

/** Secret (core v1): decoded data merged with stringData, which takes precedence. */
export const secretData = z
  .object({
    type: z.string().default('Opaque'),
    data: z.record(z.string(), text).default({}),
    stringData: z.record(z.string(), z.string()).default({}),
  })
  .transform(({ type, data, stringData }) => ({ type, data: { ...data, ...stringData } }))

/** A decoded Secret. Data that is not UTF-8 is kept as Latin-1, which loses no byte. stringData takes precedence. */
export type SecretData = z.infer<typeof secretData>
