// Compiles a provider of an entry: its imported keys, and its memory of verified tokens.

import { hash } from 'node:crypto'
import type { Differences } from '../../kit/incremental/diff.js'
import { memo } from '../../kit/incremental/memo.js'
import type { PersistentMap } from '../../kit/incremental/persistent-map.js'
import type { Work } from '../../kit/turns.js'
import type { JwtProvider, KeySource } from '../../model/authz-entry.js'
import type { JsonObject } from '../../model/json.js'
import { describeKeySet } from '../oauth/key-set.js'
import type { ClaimsRules } from './claims.js'
import { type VerificationKey, verifiersFor } from './jws-signature.js'
import { TokenMemory } from './token-memory.js'

/** An identity provider with its imported keys. */
export interface CompiledProvider extends ClaimsRules {
  readonly source: KeySource
  /** Absent: the key set was never fetched (decision 1). */
  readonly keys?: readonly VerificationKey[]
  readonly memory: TokenMemory
}

/**
 * Providers by content: equal issuer, audiences and keys give the same provider, with the same memory. uses: how often
 * entries name it; at 0 it is dropped.
 */
export type CompiledProviders = PersistentMap<{
  readonly provider: CompiledProvider
  readonly uses: number
}>

/** Returns the text that identifies the content of a provider. */
export type ContentId = (provider: JwtProvider) => string

/** Creates a function that reads each provider and key set once: both stay the same objects until they change. */
export function createContentId(): ContentId {
  const keySetHash = memo((jwks: JsonObject) => hash('sha256', JSON.stringify(jwks)))
  return memo(({ issuer, audiences, keySet }) => {
    const keys = keySet.state === 'available' ? keySetHash(keySet.jwks) : null
    return JSON.stringify([issuer, audiences, keySet.source, keys])
  })
}

/** What providers are compiled with. */
interface CompilesProviders {
  readonly contentId: ContentId
  readonly rememberedTokens: number
}

/** Returns known with the uses of removed and added providers counted. */
export function* countUses(
  known: CompiledProviders,
  { removed, added }: Differences<JwtProvider>,
  { contentId, rememberedTokens }: CompilesProviders,
): Work<CompiledProviders> {
  const changes = new Map<string, { readonly provider: CompiledProvider; readonly uses: number }>()
  const count = function* (named: JwtProvider, more: number): Work<void> {
    const id = contentId(named)
    const { provider, uses } = changes.get(id) ??
      known.get(id) ?? { provider: yield* buildProvider(named, rememberedTokens), uses: 0 }
    changes.set(id, { provider, uses: uses + more })
    yield
  }
  for (const provider of added) yield* count(provider, 1)
  for (const provider of removed) yield* count(provider, -1)
  return known.with(
    [...changes].map(([id, used]) => [id, used.uses === 0 ? undefined : used] as const),
  )
}

function* buildProvider(
  { issuer, audiences, keySet }: JwtProvider,
  rememberedTokens: number,
): Work<CompiledProvider> {
  const keys = keySet.state === 'available' ? { keys: yield* importKeys(keySet.jwks) } : {}
  return {
    issuer,
    audiences,
    source: keySet.source,
    memory: new TokenMemory(rememberedTokens),
    ...keys,
  }
}

/** Imports the usable keys of a key set, with a yield after each; the others are left out. */
export function* importKeys(jwks: JsonObject): Work<readonly VerificationKey[]> {
  const { usable } = yield* describeKeySet(jwks)
  return usable.map(({ algorithms, ...key }) => ({
    ...key,
    verifiers: verifiersFor(algorithms, key.key),
  }))
}
