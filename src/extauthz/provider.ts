// One provider of an entry, compiled: its keys imported, its memory of verified tokens beside them.

import { createPublicKey, hash } from 'node:crypto'
import type { Differences } from '../incremental/diff.js'
import { memo } from '../incremental/memo.js'
import type { PersistentMap } from '../incremental/persistent-map.js'
import type { JwtProvider, KeySource } from '../ir/authz-entry.js'
import type { JsonObject } from '../ir/json.js'
import { describeKeySet, type UsableKey } from '../oauth/key-set.js'
import type { ClaimsRules } from './claims.js'
import type { VerificationKey } from './jws.js'
import { TokenMemory } from './token-memory.js'

export interface CompiledProvider extends ClaimsRules {
  readonly source: KeySource
  /** Absent: its key set was never fetched (decision 1). */
  readonly keys?: readonly VerificationKey[]
  readonly memory: TokenMemory
}

/**
 * Providers by their content: the same issuer, audiences and keys are the same provider, with the same memory. uses: how
 * often entries name it; without any it is forgotten.
 */
export type CompiledProviders = PersistentMap<{
  readonly provider: CompiledProvider
  readonly uses: number
}>

export const providerOf = (
  providers: CompiledProviders,
  provider: JwtProvider,
): CompiledProvider | undefined => providers.get(contentId(provider))?.provider

/** known, with what is named so much more or less often. */
export function countUses(
  known: CompiledProviders,
  { removed, added }: Differences<JwtProvider>,
  rememberedTokens: number,
): CompiledProviders {
  const changes = new Map<string, { readonly provider: CompiledProvider; readonly uses: number }>()
  const count = (named: JwtProvider, more: number): void => {
    const id = contentId(named)
    const { provider, uses } = changes.get(id) ??
      known.get(id) ?? { provider: buildProvider(named, rememberedTokens), uses: 0 }
    changes.set(id, { provider, uses: uses + more })
  }
  for (const provider of added) count(provider, 1)
  for (const provider of removed) count(provider, -1)
  return known.with(
    [...changes].map(([id, used]) => [id, used.uses === 0 ? undefined : used] as const),
  )
}

function buildProvider(
  { issuer, audiences, keySet }: JwtProvider,
  rememberedTokens: number,
): CompiledProvider {
  const keys = keySet.state === 'available' ? { keys: importKeys(keySet.jwks) } : {}
  return {
    issuer,
    audiences,
    source: keySet.source,
    memory: new TokenMemory(rememberedTokens),
    ...keys,
  }
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
const keySetHash = memo((jwks: JsonObject) => hash('sha256', JSON.stringify(jwks)))

/** As the key set's: the same object while its policy stays as it is. */
const contentId = memo(({ issuer, audiences, keySet }: JwtProvider): string => {
  const keys = keySet.state === 'available' ? keySetHash(keySet.jwks) : null
  return JSON.stringify([issuer, audiences, keySet.source, keys])
})
