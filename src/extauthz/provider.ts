// One provider of an entry, compiled: its keys imported, its memory of verified tokens beside them.

import { createPublicKey, hash } from 'node:crypto'
import type { JwtProvider, KeySource } from '../ir/authz-entry.js'
import type { JsonObject } from '../ir/json.js'
import { describeKeySet, type UsableKey } from '../oauth/key-set.js'
import type { ClaimsRules } from './claims.js'
import type { VerificationKey } from './jws.js'
import { TokenMemory } from './token-memory.js'

export interface Provider extends ClaimsRules {
  readonly source: KeySource
  /** Absent: its key set was never fetched (decision 1). */
  readonly keys?: readonly VerificationKey[]
  readonly memory: TokenMemory
}

/** Providers by their content: the same issuer, audiences and keys are the same provider, with the same memory. */
export type Providers = Map<string, Provider>

/** Reuses what known holds, and puts what it builds into fresh. */
export function compileProvider(
  provider: JwtProvider,
  known: ReadonlyMap<string, Provider>,
  fresh: Providers,
): Provider {
  const id = contentId(provider)
  const compiled = fresh.get(id) ?? known.get(id) ?? buildProvider(provider)
  fresh.set(id, compiled)
  return compiled
}

function buildProvider({ issuer, audiences, keySet }: JwtProvider): Provider {
  const keys = keySet.state === 'available' ? { keys: importKeys(keySet.jwks) } : {}
  return { issuer, audiences, source: keySet.source, memory: new TokenMemory(), ...keys }
}

export const importKeys = (jwks: JsonObject): readonly VerificationKey[] =>
  describeKeySet(jwks).usable.flatMap(importKey)

/** A point that is not on its curve is seen here; such a key verifies nothing. */
function importKey(usable: UsableKey): readonly VerificationKey[] {
  try {
    const key = createPublicKey({ key: { ...usable.jwk }, format: 'jwk' })
    const kid = usable.kid === undefined ? {} : { kid: usable.kid }
    return [{ ...kid, algorithms: usable.algorithms, key }]
  } catch {
    return []
  }
}

/** A key set is the same object until another one is fetched: its hash is made once. */
const keySetHashes = new WeakMap<JsonObject, string>()

function keySetHash(jwks: JsonObject): string {
  const known = keySetHashes.get(jwks)
  if (known !== undefined) return known
  const fresh = hash('sha256', JSON.stringify(jwks))
  keySetHashes.set(jwks, fresh)
  return fresh
}

/** As the key set's: the same object while its policy stays as it is. */
const contentIds = new WeakMap<JwtProvider, string>()

function contentId(provider: JwtProvider): string {
  const known = contentIds.get(provider)
  if (known !== undefined) return known
  const { issuer, audiences, keySet } = provider
  const keys = keySet.state === 'available' ? keySetHash(keySet.jwks) : null
  const fresh = JSON.stringify([issuer, audiences, keySet.source, keys])
  contentIds.set(provider, fresh)
  return fresh
}
