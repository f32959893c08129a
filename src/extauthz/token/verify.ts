// Verifies a token, in this order: its form and claims as JSON, its issuer, what its claims must say, the key that it names,
// the signature (decisions 1 and 5). A token that one check rules out costs none of the later ones.

import { andThen, type MaybePromise } from '../../kit/turns.js'
import type { CompiledJwt } from '../authz-table.js'
import {
  claim,
  type Claims,
  type ClaimsFault,
  claimsFault,
  LEEWAY_SECONDS,
  readClaims,
} from './claims.js'
import type { FreshKeys } from './fresh-keys.js'
import { type CompactParts, type JoseHeader, type Jws, readParts } from './jws.js'
import { keysFor, type VerificationKey, verifyJws } from './jws-signature.js'
import type { CompiledProvider } from './provider.js'
import type { RememberedToken } from './token-memory.js'

/** Why a token is not valid. */
export type TokenFault =
  | ClaimsFault
  | 'malformed-header'
  | 'malformed-token'
  | 'unknown-issuer'
  | 'unknown-key'
  | 'bad-signature'

/** The result of verifying a token. */
export type Verification =
  | { readonly type: 'verified'; readonly token: RememberedToken }
  | { readonly type: 'refused'; readonly fault: TokenFault }
  /** The required key set was never fetched. */
  | { readonly type: 'unavailable' }
  /** The provider could not be asked in time whether it has the token's key. */
  | { readonly type: 'unanswered' }

/** The result where no token can be verified. */
export const UNAVAILABLE: Verification = { type: 'unavailable' }
const UNANSWERED: Verification = { type: 'unanswered' }
const UNKNOWN_ISSUER: Outcome = { type: 'refused', fault: 'unknown-issuer' }
const BAD_SIGNATURE: Outcome = { type: 'refused', fault: 'bad-signature' }

/** A token as JSON. jws: absent if it is not a signed JWT. claims: absent if they are malformed. */
export interface ReadToken {
  readonly jws?: Jws | undefined
  readonly claims?: Claims | undefined
}

/** The checks of a token, in the order in which they are made. */
export interface TokenSteps {
  /** @param parts undefined: the text has not the form of a JWS. */
  read(jwt: CompiledJwt, parts: CompactParts | undefined): ReadToken
  /** Returns the providers whose issuer is the token's iss; more than one only where a configuration repeats an issuer. */
  providers(jwt: CompiledJwt, claims: Claims): readonly CompiledProvider[]
  /** Returns the key set of a provider; undefined: it was never fetched. */
  keySet(provider: CompiledProvider, header: JoseHeader): readonly VerificationKey[] | undefined
  /** @param nowSeconds since the epoch. @returns undefined: the claims are valid. */
  claimsFault(
    header: JoseHeader,
    claims: Claims,
    provider: CompiledProvider,
    nowSeconds: number,
  ): ClaimsFault | undefined
  /** Returns the keys that may have signed the token. */
  fittingKeys(
    provider: CompiledProvider,
    header: JoseHeader,
    keys: readonly VerificationKey[],
  ): readonly VerificationKey[]
  /** @param wasVerified whether the same token was, before. @returns a promise where a large key verifies in a thread. */
  isSigned(jws: Jws, keys: readonly VerificationKey[], wasVerified: boolean): MaybePromise<boolean>
}

/** The checks as servers make them. */
export const TOKEN_STEPS: TokenSteps = {
  read(jwt, parts) {
    const jws = parts && readParts(parts, jwt.headers)
    return { jws, claims: jws && readClaims(jws) }
  },
  providers: (jwt, claims) => ofIssuer(jwt, claim(claims.json, 'iss')),
  keySet: ({ keys }) => keys,
  claimsFault: (header, claims, provider, nowSeconds) =>
    claimsFault(header, claims.json, provider, nowSeconds),
  fittingKeys: (_provider, header, keys) => keysFor(header, keys),
  isSigned: (jws, keys, wasVerified) => wasVerified || verifyJws(jws, keys),
}

/** What verifying needs besides the token. */
export interface VerificationContext {
  readonly nowSeconds: number
  readonly steps: TokenSteps
  /**
   * Fetches the provider's keys again, within limits.
   * @param name of the wanted key.
   * @param hasKey tests the configuration that the entry has then.
   */
  readonly withFreshKeys: (
    provider: CompiledProvider,
    name: string,
    hasKey: (jwt: CompiledJwt) => boolean,
  ) => Promise<FreshKeys>
}

/**
 * Verifies a token.
 * @param parts undefined: the text has not the form of a JWS.
 * @param digest of the text, by which a verified token is remembered.
 */
export function verifyToken(
  jwt: CompiledJwt,
  parts: CompactParts | undefined,
  digest: string,
  context: VerificationContext,
): MaybePromise<Verification> {
  const { jws, claims } = context.steps.read(jwt, parts)
  if (jws === undefined) return { type: 'refused', fault: 'malformed-token' }
  if (claims === undefined) return { type: 'refused', fault: 'malformed-claims' }
  const attempt = { jws, claims, size: jws.token.length, digest, context }
  const providers = context.steps.providers(jwt, claims)
  return andThen(tryProviders(providers, attempt), (outcome) =>
    outcome.type === 'unknown-key' ? tryFreshKeys(providers, outcome, attempt) : outcome,
  )
}

/** A token that is being verified. */
interface Attempt {
  readonly jws: Jws
  readonly claims: Claims
  /** Length of the token, in bytes. */
  readonly size: number
  readonly digest: string
  readonly context: VerificationContext
}

/** The provider's fetched key set lacks the key; another fetch may bring it. */
interface UnknownKey {
  readonly type: 'unknown-key'
  readonly provider: CompiledProvider
  /** If it does not: bad-signature where a token that names no key was tried with those of the set. */
  readonly fault: 'unknown-key' | 'bad-signature'
}

type Outcome = Verification | UnknownKey

/** Returns the first success, else an unknown key, else a key set that was never fetched, else the last fault. */
function tryProviders(
  [provider, ...others]: readonly CompiledProvider[],
  attempt: Attempt,
  last = UNKNOWN_ISSUER,
): MaybePromise<Outcome> {
  if (provider === undefined) return last
  return andThen(tryProvider(provider, attempt), (outcome) => {
    if (outcome.type === 'verified') return outcome
    const isTelling =
      last.type === 'refused' || (last.type === 'unavailable' && outcome.type === 'unknown-key')
    return tryProviders(others, attempt, isTelling ? outcome : last)
  })
}

function tryProvider(provider: CompiledProvider, attempt: Attempt): MaybePromise<Outcome> {
  const { jws, claims, context } = attempt
  const { steps, nowSeconds } = context
  const keys = steps.keySet(provider, jws.header)
  if (keys === undefined) return UNAVAILABLE
  const fault = steps.claimsFault(jws.header, claims, provider, nowSeconds)
  if (fault !== undefined) return { type: 'refused', fault }
  const fitting = steps.fittingKeys(provider, jws.header, keys)
  if (fitting.length === 0) return withoutGoodKey(provider, 'unknown-key')
  const wasVerified = provider.memory.wasVerified(attempt.digest)
  return andThen(steps.isSigned(jws, fitting, wasVerified), (isGood) => {
    if (isGood) return { type: 'verified', token: remember(provider, attempt, wasVerified) }
    // A key that the token names by its kid has been found.
    return jws.header.kid === undefined ? withoutGoodKey(provider, 'bad-signature') : BAD_SIGNATURE
  })
}

const withoutGoodKey = (provider: CompiledProvider, fault: UnknownKey['fault']): Outcome =>
  provider.source.type === 'remote'
    ? { type: 'unknown-key', provider, fault }
    : { type: 'refused', fault }

/** Remembers the claims of a token only when it is used again: many tokens are used once. */
function remember(
  { memory }: CompiledProvider,
  { claims, size, digest }: Attempt,
  isKept: boolean,
): RememberedToken {
  const until = (claim(claims.json, 'exp') as number) + LEEWAY_SECONDS
  const token: RememberedToken = { claims, until, size, isKept, allowed: {} }
  if (isKept) memory.remember(digest, token)
  else memory.noteVerified(digest)
  return token
}

async function tryFreshKeys(
  providers: readonly CompiledProvider[],
  { provider, fault }: UnknownKey,
  attempt: Attempt,
): Promise<Verification> {
  const { claims, context } = attempt
  const issuer = claim(claims.json, 'iss')
  const tried = candidates(providers, attempt)
  const hasKey = (renewed: CompiledJwt): boolean =>
    candidates(ofIssuer(renewed, issuer), attempt).some(
      ({ key }) => !tried.some((known) => known.key.equals(key)),
    )
  const fresh = await context.withFreshKeys(provider, nameOfKey(attempt), hasKey)
  if (fresh.type === 'unanswered') return UNANSWERED
  if (fresh.type === 'unknown') return withoutKey(providers, fault)
  const renewed = ofIssuer(fresh.jwt, issuer)
  const second = await tryProviders(renewed, attempt)
  return second.type === 'unknown-key' ? withoutKey(renewed, second.fault) : second
}

const ofIssuer = (jwt: CompiledJwt, issuer: unknown): readonly CompiledProvider[] =>
  jwt.providers.filter((provider) => provider.issuer === issuer)

const candidates = (
  providers: readonly CompiledProvider[],
  { jws }: Attempt,
): readonly VerificationKey[] => providers.flatMap(({ keys = [] }) => keysFor(jws.header, keys))

/** A token that names no key stands for its own: one that nobody signed must not make others wait that look like it. */
const nameOfKey = ({ jws: { header }, digest }: Attempt): string =>
  JSON.stringify([header.algorithm, header.kid ?? { digest }])

/** Reports "unavailable" if some key set was never fetched, since it may contain the key. */
const withoutKey = (providers: readonly CompiledProvider[], fault: TokenFault): Verification =>
  providers.some(({ keys }) => keys === undefined) ? UNAVAILABLE : { type: 'refused', fault }
