// Authenticates a request by its token and the mode of its entry (decision 3).

import { andThen, type MaybePromise } from '../../kit/turns.js'
import type { CompiledJwt } from '../authz-table.js'
import { type BearerToken, bearerToken, unreadToken } from './authorization-header.js'
import { type CompactParts, compactParts } from './jws.js'
import { type RememberedToken, tokenDigest } from './token-memory.js'
import { UNAVAILABLE, type Verification, type VerificationContext, verifyToken } from './verify.js'

/** The result of authenticating a request. */
export type Authentication =
  | Verification
  /** Proceeds without claims. */
  | { readonly type: 'anonymous' }
  | { readonly type: 'no-token' }

const ANONYMOUS: Authentication = { type: 'anonymous' }
const NO_TOKEN: Authentication = { type: 'no-token' }

/** Finds the bearer token in the values of all Authorization headers. parts: of a value that has the form of a JWS. */
export type FindBearer = (
  jwt: CompiledJwt,
  values: readonly string[],
  parts: CompactParts | undefined,
) => BearerToken

/** What has the form of a JWS has that of a bearer token, too. */
export const findBearer: FindBearer = (_jwt, values, parts) =>
  parts === undefined ? bearerToken(values) : { type: 'token', token: parts.token }

/** What authentication needs besides the headers. */
export interface AuthenticationContext extends VerificationContext {
  readonly findBearer: FindBearer
}

/**
 * Authenticates by the values of all Authorization headers, as sent. Returns a promise only where a key must be fetched
 * or a large key verifies in a thread.
 */
export function authenticate(
  jwt: CompiledJwt,
  values: readonly string[],
  context: AuthenticationContext,
): MaybePromise<Authentication> {
  const unread = unreadToken(values)
  const unreadDigest = unread === undefined ? '' : tokenDigest(unread)
  const known = findVerified(jwt, unreadDigest, context)
  if (known !== undefined) return { type: 'verified', token: known }
  const usual = unread === undefined ? undefined : compactParts(unread, jwt.headers)
  const bearer = context.findBearer(jwt, values, usual)
  if (bearer.type !== 'token') return withoutToken(jwt, bearer)
  if (bearer.token === unread) return verifyNew(jwt, usual, unreadDigest, context)
  const digest = tokenDigest(bearer.token)
  const found = findVerified(jwt, digest, context)
  if (found !== undefined) return { type: 'verified', token: found }
  return verifyNew(jwt, compactParts(bearer.token, jwt.headers), digest, context)
}

function findVerified(
  { providers }: CompiledJwt,
  digest: string,
  { nowSeconds }: AuthenticationContext,
): RememberedToken | undefined {
  for (const provider of providers) {
    const token = provider.memory.find(digest, nowSeconds)
    if (token !== undefined) return token
  }
  return undefined
}

function withoutToken(jwt: CompiledJwt, bearer: BearerToken): Authentication {
  if (jwt.mode === 'Permissive') return ANONYMOUS
  if (jwt.mode === 'Strict' && hasNoKeys(jwt)) return UNAVAILABLE
  if (bearer.type === 'malformed') return { type: 'refused', fault: 'malformed-header' }
  return jwt.mode === 'Optional' ? ANONYMOUS : NO_TOKEN
}

const verifyNew = (
  jwt: CompiledJwt,
  parts: CompactParts | undefined,
  digest: string,
  context: AuthenticationContext,
): MaybePromise<Authentication> =>
  andThen(verifyToken(jwt, parts, digest, context), (outcome) => {
    if (outcome.type === 'verified') return outcome
    if (jwt.mode === 'Permissive') return ANONYMOUS
    return hasNoKeys(jwt) ? UNAVAILABLE : outcome
  })

const hasNoKeys = (jwt: CompiledJwt): boolean =>
  jwt.providers.every((provider) => provider.keys === undefined)
