// Finds values of a document that later steps must not see.

import type { FieldPath } from '../kinds/field-path.js'
import { MAX_DEPTH } from './yaml-document.js'

/** Whether the text has a lone surrogate: neither UTF-8 nor a message to Envoy can hold one. */
const isIllFormed = (text: string): boolean => /\p{Surrogate}/u.test(text)

const ILL_FORMED = 'has half of a surrogate pair (\\ud800 to \\udfff), which is no character'

/**
 * Finds a value that later steps must not see: a cycle or excessive depth, a "__proto__" key, or text that cannot be
 * encoded as UTF-8.
 */
export function findUnfit(
  value: unknown,
  path: FieldPath,
): { readonly message: string; readonly path: FieldPath } | undefined {
  if (typeof value === 'string' && isIllFormed(value)) return { message: ILL_FORMED, path }
  if (typeof value !== 'object' || value === null) return undefined
  if (path.length > MAX_DEPTH)
    return { message: `is nested more than ${MAX_DEPTH} levels deep`, path }
  for (const [key, inner] of Object.entries(value)) {
    const innerPath = [...path, Array.isArray(value) ? Number(key) : key]
    if (isIllFormed(key)) return { message: ILL_FORMED, path: innerPath }
    if (key === '__proto__') return { message: '"__proto__" cannot be a key', path: innerPath }
    const unfit = findUnfit(inner, innerPath)
    if (unfit !== undefined) return unfit
  }
  return undefined
}
