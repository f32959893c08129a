// Authenticates a request by its token and the mode of its entry (decisions 1, 3 and 5).

import { andThen } from '../../kit/turns.js'
import type { CompiledJwt } from '../authz-table.js'
import type { RecordStep, TokenHeader } from '../record-step.js'
import { type BearerToken, bearerToken, unreadToken } from './authorization-header.js'
import {
  claim,
  type Claims,
  type ClaimsFault,
  claimsFault,
  LEEWAY_SECONDS,
  readClaims,
} from './claims.js'
import type { FreshKeys } from './fresh-keys.js'
import { type CompactParts, compactParts, type JoseHeader, type Jws, readParts } from './jws.js'
import { keysFor, type VerificationKey, verifyJws } from './jws-signature.js'
import type { CompiledProvider } from './provider.js'
import { type RememberedToken, tokenDigest } from './token-memory.js'

/** Why a token is not valid. */
export type TokenFault =
  | ClaimsFault
  | 'malformed-header'
  | 'malformed-token'
  | 'unknown-issuer'
  | 'unknown-key'
  | 'bad-signature'

/** The result of authenticating a request. */
export type Authentication =
  | { readonly type: 'verified'; readonly token: RememberedToken }
  /** Proceeds without claims. */
  | { readonly type: 'anonymous' }
  | { readonly type: 'no-token' }
  | { readonly type: 'refused'; readonly fault: TokenFault }
  /** The required key set was never fetched. */
  | { readonly type: 'unavailable' }
  /** The provider could not be asked in time whether it has the token's key. */
  | { readonly type: 'unanswered' }

const ANONYMOUS: Authentication = { type: 'anonymous' }
const NO_TOKEN: Authentication = { type: 'no-token' }
const UNAVAILABLE: Authentication = { type: 'unavailable' }
const UNANSWERED: Authentication = { type: 'unanswered' }

/** What authentication needs beside the token. */
export interface AuthenticationContext {
  readonly nowSeconds: number
  /** Undefined in servers. */
  readonly recordStep?: RecordStep | undefined
  /**
   * Fetches the provider's keys again, within limits. name: of the wanted key. hasKey: tests the configuration that the entry
   * has then.
   */
  readonly withFreshKeys: (
    provider: CompiledProvider,
    name: string,
    hasKey: (jwt: CompiledJwt) => boolean,
  ) => Promise<FreshKeys>
}

/**
 * Authenticates by the values of all Authorization headers, as sent. Returns a promise only where a key must be fetched
 * or a large key verifies in a thread.
 */
export function authenticate(
  jwt: CompiledJwt,
  values: readonly string[],
  context: AuthenticationContext,
): Authentication | Promise<Authentication> {
  const unread = unreadToken(values)
  const unreadDigest = unread === undefined ? '' : tokenDigest(unread)
  const known = findVerified(jwt, unreadDigest, context)
  if (known !== undefined) return known
  const usual = unread === undefined ? undefined : compactParts(unread, jwt.headers)
  // What has the form of a JWS has that of a bearer token, too.
  const bearer = usual === undefined ? bearerToken(values) : tokenOf(usual)
  context.recordStep?.({ step: 'bearer', found: bearer.type, mode: jwt.mode })
  if (bearer.type !== 'token') return withoutToken(jwt, bearer)
  if (bearer.token === unread) return verifyNew(jwt, usual, unreadDigest, context)
  const digest = tokenDigest(bearer.token)
  return (
    findVerified(jwt, digest, context) ??
    verifyNew(jwt, compactParts(bearer.token, jwt.headers), digest, context)
  )
}

const tokenOf = ({ token }: CompactParts): BearerToken => ({ type: 'token', token })

function findVerified(
  { providers }: CompiledJwt,
  digest: string,
  { nowSeconds }: AuthenticationContext,
): Authentication | undefined {
  for (const provider of providers) {
    const token = provider.memory.find(digest, nowSeconds)
    if (token !== undefined) return { type: 'verified', token }
  }
  return undefined
}

function withoutToken(jwt: CompiledJwt, bearer: BearerToken): Authentication {
  if (jwt.mode === 'Permissive') return ANONYMOUS
  if (jwt.mode === 'Strict' && noKeysAtAll(jwt)) return UNAVAILABLE
  if (bearer.type === 'malformed') return { type: 'refused', fault: 'malformed-header' }
  return jwt.mode === 'Optional' ? ANONYMOUS : NO_TOKEN
}

const noKeysAtAll = (jwt: CompiledJwt): boolean =>
  jwt.providers.every((provider) => provider.keys === undefined)

type Outcome = Authentication | UnknownKey

/** A value, or a promise where a key must be fetched or a large key verifies in a thread. */
type Soon<T> = T | Promise<T>

const verifyNew = (
  jwt: CompiledJwt,
  token: CompactParts | undefined,
  digest: string,
  context: AuthenticationContext,
): Soon<Authentication> =>
  andThen(verifyToken(jwt, token, digest, context), (outcome) => {
    if (outcome.type === 'verified') return outcome
    if (jwt.mode === 'Permissive') return ANONYMOUS
    return noKeysAtAll(jwt) ? UNAVAILABLE : outcome
  })

function verifyToken(
  jwt: CompiledJwt,
  token: CompactParts | undefined,
  digest: string,
  context: AuthenticationContext,
): Soon<Authentication> {
  const jws = token && readParts(token, jwt.headers)
  const claims = jws && readClaims(jws)
  context.recordStep?.({ step: 'token', header: jws && headerOf(jws.header), claims: claims?.json })
  if (jws === undefined) return { type: 'refused', fault: 'malformed-token' }
  if (claims === undefined) return { type: 'refused', fault: 'malformed-claims' }
  const attempt = { jws, claims, size: jws.token.length, digest, context }
  const providers = ofIssuer(jwt, claim(claims.json, 'iss'))
  context.recordStep?.({
    step: 'issuer',
    accepted: jwt.providers.map(({ issuer }) => issuer),
    claims: claims.json,
    matching: providers.length,
  })
  return andThen(tryProviders(providers, attempt), (outcome) =>
    outcome.type === 'unknown-key' ? tryFreshKeys(providers, outcome, attempt) : outcome,
  )
}

const headerOf = ({ algorithm, kid, type }: JoseHeader): TokenHeader => ({
  algorithm,
  ...(kid !== undefined && { kid }),
  ...(type !== undefined && { type }),
})

async function tryFreshKeys(
  providers: readonly CompiledProvider[],
  { provider, fault }: UnknownKey,
  attempt: Attempt,
): Promise<Authentication> {
  const { claims, context } = attempt
  const issuer = claim(claims.json, 'iss')
  const tried = candidates(providers, attempt)
  const hasKey = (renewed: CompiledJwt): boolean =>
    candidates(ofIssuer(renewed, issuer), attempt).some(
      ({ key }) => !tried.some((known) => known.key.equals(key)),
    )
  const fresh = await context.withFreshKeys(provider, nameOfKey(attempt), hasKey)
  context.recordStep?.({ step: 'refetch', result: fresh.type })
  if (fresh.type === 'unanswered') return UNANSWERED
  if (fresh.type === 'unknown') return withoutKey(providers, fault)
  const renewed = ofIssuer(fresh.jwt, issuer)
  const second = await tryProviders(renewed, attempt)
  return second.type === 'unknown-key' ? withoutKey(renewed, second.fault) : second
}

const candidates = (
  providers: readonly CompiledProvider[],
  { jws }: Attempt,
): readonly VerificationKey[] => providers.flatMap(({ keys = [] }) => keysFor(jws.header, keys))

/** A token that names no key stands for its own: one that nobody signed must not make others wait that look like it. */
const nameOfKey = ({ jws: { header }, digest }: Attempt): string =>
  JSON.stringify([header.algorithm, header.kid ?? { digest }])

/** Reports "unavailable" if some key set was never fetched, since it may contain the key. */
const withoutKey = (providers: readonly CompiledProvider[], fault: TokenFault): Authentication =>
  providers.some(({ keys }) => keys === undefined) ? UNAVAILABLE : { type: 'refused', fault }

/** Providers whose issuer is the token's iss; more than one only where a configuration repeats an issuer. */
const ofIssuer = (jwt: CompiledJwt, issuer: unknown): readonly CompiledProvider[] =>
  jwt.providers.filter((provider) => provider.issuer === issuer)

interface Attempt {
  readonly jws: Jws
  readonly claims: Claims
  /** Length of the token, in bytes. */
  readonly size: number
  readonly digest: string
  readonly context: AuthenticationContext
}

/** The provider's fetched key set lacks the key; another fetch may bring it. */
interface UnknownKey {
  readonly type: 'unknown-key'
  readonly provider: CompiledProvider
  /** If it does not: bad-signature where a token that names no key was tried with those of the set. */
  readonly fault: 'unknown-key' | 'bad-signature'
}

const UNKNOWN_ISSUER: Outcome = { type: 'refused', fault: 'unknown-issuer' }

/** Returns the first success, else an unknown key, else a key set that was never fetched, else the last fault. */
function tryProviders(
  [provider, ...others]: readonly CompiledProvider[],
  attempt: Attempt,
  last = UNKNOWN_ISSUER,
): Soon<Outcome> {
  if (provider === undefined) return last
  return andThen(tryProvider(provider, attempt), (outcome) => {
    if (outcome.type === 'verified') return outcome
    const isTelling =
      last.type === 'refused' || (last.type === 'unavailable' && outcome.type === 'unknown-key')
    return tryProviders(others, attempt, isTelling ? outcome : last)
  })
}

/** Checks the claims first: a token that they rule out costs no verification and no fetch. */
function tryProvider(provider: CompiledProvider, attempt: Attempt): Soon<Outcome> {
  const { jws, claims, context } = attempt
  const { nowSeconds, recordStep } = context
  const { issuer, keys } = provider
  if (keys === undefined) {
    recordStep?.({
      step: 'key',
      issuer,
      header: headerOf(jws.header),
      keys: undefined,
      tried: 0,
    })
    return UNAVAILABLE
  }
  const fault = claimsFault(jws.header, claims.json, provider, nowSeconds)
  if (recordStep !== undefined)
    recordStep({
      step: 'claims',
      rules: provider,
      claims: claims.json,
      header: headerOf(jws.header),
      nowSeconds,
      fault,
    })
  if (fault !== undefined) return { type: 'refused', fault }
  const fitting = keysFor(jws.header, keys)
  if (recordStep !== undefined)
    recordStep({
      step: 'key',
      issuer,
      header: headerOf(jws.header),
      keys: keys.length,
      tried: fitting.length,
    })
  if (fitting.length === 0) return withoutGoodKey(provider, 'unknown-key')
  const wasVerified = provider.memory.wasVerified(attempt.digest)
  return andThen(wasVerified || verifyJws(jws, fitting), (isGood) => {
    recordStep?.({ step: 'signature', isGood, tried: fitting.length })
    if (isGood) return { type: 'verified', token: remember(provider, attempt, wasVerified) }
    // A key that the token names by its kid has been found.
    return jws.header.kid === undefined ? withoutGoodKey(provider, 'bad-signature') : BAD_SIGNATURE
  })
}

const withoutGoodKey = (provider: CompiledProvider, fault: UnknownKey['fault']): Outcome =>
  provider.source.type === 'remote'
    ? { type: 'unknown-key', provider, fault }
    : { type: 'refused', fault }

const BAD_SIGNATURE: Outcome = { type: 'refused', fault: 'bad-signature' }

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
