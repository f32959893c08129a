// A model → the hash of its content. What did not change is not read again: its objects are the same.

import { createHash } from 'node:crypto'
import type { Ir } from '../ir/ir.js'

const hashes = new WeakMap<object, string>()

function hashOf(part: object): string {
  const known = hashes.get(part)
  if (known !== undefined) return known
  const hash = createHash('sha256').update(JSON.stringify(part)).digest('base64url')
  hashes.set(part, hash)
  return hash
}

/** Equal for equal content, in every process. */
export function revisionOf(ir: Ir): string {
  const hash = createHash('sha256')
  for (const parts of [ir.gateways, ir.destinations, ir.certificates, ir.authz, ir.proc]) {
    for (const part of parts) hash.update(hashOf(part))
    hash.update('.')
  }
  return hash.digest('base64url').slice(0, 22)
}
