// Reads a token's claims and checks whether they are valid here and now (RFC 7519 section 4.1, decision 5).

import { decodeUtf8 } from '../../kit/utf8.js'
import type { Json, JsonObject } from '../../model/json.js'
import { type LazyValue, lazyValue } from '../cel/attributes.js'
import { type JoseHeader, type Jws, parseObject } from './jws.js'

/** Why the claims of a token are not valid. */
export type ClaimsFault =
  | 'malformed-claims'
  | 'wrong-type'
  | 'wrong-issuer'
  | 'wrong-audience'
  | 'no-expiry'
  | 'expired'
  | 'not-yet-valid'

/** Maximum difference between the clocks of provider and gateway, in seconds. */
export const LEEWAY_SECONDS = 60

/** Maximum nesting: Envoy reads claims as a protobuf Struct, with three messages per level and 100 messages at most. */
const MAX_DEPTH = 24

/** The claims of a token. */
export type Claims = LazyValue<JsonObject>

/** undefined: not an object, nested too deeply, or with a number that no double can hold. */
export function readClaims(jws: Jws): Claims | undefined {
  const text = decodeUtf8(jws.payload)
  const claims = parseObject(text)
  const numbers = claims === undefined ? 'unreadable' : numbersIn(claims, MAX_DEPTH)
  if (claims === undefined || numbers === 'unreadable') return undefined
  return lazyValue(claims, numbers === 'rounded' ? text : undefined)
}

/** rounded: JSON.parse may have changed a whole number. unreadable: one is infinite, or the value is nested too deeply. */
type Numbers = 'exact' | 'rounded' | 'unreadable'

function numbersIn(value: Json, depth: number): Numbers {
  if (typeof value === 'number') return exactness(value)
  if (typeof value !== 'object' || value === null) return 'exact'
  if (depth === 0) return 'unreadable'
  let all: Numbers = 'exact'
  for (const item of Object.values(value)) {
    const found = numbersIn(item, depth - 1)
    if (found === 'unreadable') return found
    if (found === 'rounded') all = found
  }
  return all
}

function exactness(value: number): Numbers {
  if (!Number.isFinite(value)) return 'unreadable'
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? 'rounded' : 'exact'
}

/** Reads own members only, so an absent claim is not found on Object's prototype. */
export const claim = (claims: JsonObject, name: string): Json | undefined =>
  Object.hasOwn(claims, name) ? claims[name] : undefined

/** What a provider requires of claims. */
export interface ClaimsRules {
  readonly issuer: string
  /** Empty: aud is not checked. */
  readonly audiences: readonly string[]
}

/** nowSeconds: since the epoch. undefined: the claims are valid. */
export function claimsFault(
  header: JoseHeader,
  claims: JsonObject,
  rules: ClaimsRules,
  nowSeconds: number,
): ClaimsFault | undefined {
  if (!header.isToken) return 'wrong-type'
  if (claim(claims, 'iss') !== rules.issuer) return 'wrong-issuer'
  if (rules.audiences.length > 0 && !isAudience(claim(claims, 'aud'), rules.audiences))
    return 'wrong-audience'
  return timeFault(claim(claims, 'exp'), claim(claims, 'nbf'), nowSeconds)
}

function isAudience(aud: Json | undefined, audiences: readonly string[]): boolean {
  if (typeof aud === 'string') return audiences.includes(aud)
  if (!Array.isArray(aud)) return false
  const list = aud as readonly Json[]
  return (
    list.every((item) => typeof item === 'string') && list.some((item) => audiences.includes(item))
  )
}

function timeFault(
  exp: Json | undefined,
  nbf: Json | undefined,
  now: number,
): ClaimsFault | undefined {
  if (exp === undefined) return 'no-expiry'
  if (typeof exp !== 'number') return 'malformed-claims'
  if (now >= exp + LEEWAY_SECONDS) return 'expired'
  if (nbf === undefined) return undefined
  if (typeof nbf !== 'number') return 'malformed-claims'
  return now < nbf - LEEWAY_SECONDS ? 'not-yet-valid' : undefined
}
