// Selects the keys of a provider's JSON Web Key Set (RFC 7517) that may verify signatures, with reasons for the others.
// Checks only their shape; whether a point is on its curve is checked when the table imports the key.

import { isJsonObject, type Json, type JsonObject } from '../ir/json.js'
import { ed25519Fault } from './edwards-key.js'
import { rsaFault } from './rsa-key.js'

/** Asymmetric algorithms of RFC 7518, 8037 and 9864; HS* and none are never supported (decision 5). */
export type SignatureAlgorithm =
  | 'RS256'
  | 'RS384'
  | 'RS512'
  | 'PS256'
  | 'PS384'
  | 'PS512'
  | 'ES256'
  | 'ES384'
  | 'ES512'
  | 'EdDSA'
  | 'Ed25519'

/** A key that may verify signatures. */
export interface UsableKey {
  readonly kid?: string
  /** Algorithms that its type and its "alg" allow. */
  readonly algorithms: readonly SignatureAlgorithm[]
  /** Only the members that define the public key. */
  readonly jwk: PublicJwk
}

/** The members of a public key. */
export type PublicJwk =
  | { readonly kty: 'RSA'; readonly n: string; readonly e: string }
  | { readonly kty: 'EC'; readonly crv: string; readonly x: string; readonly y: string }
  | { readonly kty: 'OKP'; readonly crv: 'Ed25519'; readonly x: string }

/** A key that is not used. */
export interface SkippedKey {
  readonly kid?: string
  /** Reason for a person, e.g. 'its "use" is not "sig"'. */
  readonly reason: string
}

/** The keys of a set. */
export interface KeySetDescription {
  readonly usable: readonly UsableKey[]
  readonly skipped: readonly SkippedKey[]
}

/** Maximum number of keys; further ones are skipped, because importing them blocks all requests. */
const MAX_KEYS = 256

const RSA_ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const
const ED25519_ALGORITHMS = ['EdDSA', 'Ed25519'] as const
const CURVES: ReadonlyMap<Json | undefined, { algorithm: SignatureAlgorithm; bytes: number }> =
  new Map([
    ['P-256', { algorithm: 'ES256', bytes: 32 }],
    ['P-384', { algorithm: 'ES384', bytes: 48 }],
    ['P-521', { algorithm: 'ES512', bytes: 66 }],
  ])
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv']

/** Selects the usable keys of a set. */
export function describeKeySet(jwks: JsonObject): KeySetDescription {
  const keys = member(jwks, 'keys')
  if (!Array.isArray(keys))
    return { usable: [], skipped: [{ reason: 'the document has no list of "keys"' }] }
  const usable: UsableKey[] = []
  const skipped: SkippedKey[] = []
  for (const [index, key] of (keys as readonly Json[]).entries()) {
    const outcome = index < MAX_KEYS ? describeKey(key) : `there are more than ${MAX_KEYS} keys`
    if (typeof outcome === 'string') skipped.push({ ...kidOf(key), reason: outcome })
    else usable.push(outcome)
  }
  return { usable, skipped }
}

/** Reads an own member: a document must not be read through Object's prototype. */
const member = (object: JsonObject, name: string): Json | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined

function kidOf(key: Json): { readonly kid?: string } {
  const kid = isJsonObject(key) ? member(key, 'kid') : undefined
  return typeof kid === 'string' ? { kid } : {}
}

function describeKey(key: Json): UsableKey | string {
  if (!isJsonObject(key)) return 'it is not an object'
  const fault = commonFault(key)
  if (fault !== undefined) return fault
  const shape = publicKey(key)
  if (typeof shape === 'string') return shape
  const alg = member(key, 'alg')
  if (alg === undefined) return { ...kidOf(key), ...shape }
  const algorithms = shape.algorithms.filter((algorithm) => algorithm === alg)
  return algorithms.length === 0
    ? 'its "alg" is not a signature algorithm of its type'
    : { ...kidOf(key), jwk: shape.jwk, algorithms: withSynonym(algorithms) }
}

/** Adds the synonym: RFC 9864 calls Ed25519 what RFC 8037 calls EdDSA, with the same keys. */
const withSynonym = (algorithms: readonly SignatureAlgorithm[]): readonly SignatureAlgorithm[] =>
  algorithms.some((algorithm) => algorithm === 'EdDSA' || algorithm === 'Ed25519')
    ? ED25519_ALGORITHMS
    : algorithms

function commonFault(key: JsonObject): string | undefined {
  const [kid, use, operations] = ['kid', 'use', 'key_ops'].map((name) => member(key, name))
  if (kid !== undefined && typeof kid !== 'string') return 'its "kid" is not a string'
  if (use !== undefined && use !== 'sig') return 'its "use" is not "sig"'
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify')))
    return 'its "key_ops" do not include "verify"'
  if (PRIVATE_MEMBERS.some((name) => member(key, name) !== undefined))
    return 'it is a secret or private key: anybody who reads the key set could sign'
  return undefined
}

type Shape = Pick<UsableKey, 'jwk' | 'algorithms'>

function publicKey(key: JsonObject): Shape | string {
  switch (member(key, 'kty')) {
    case 'RSA':
      return rsaKey(key)
    case 'EC':
      return curveKey(key)
    case 'OKP':
      return edwardsKey(key)
    default:
      return 'its "kty" is not RSA, EC or OKP'
  }
}

function rsaKey(key: JsonObject): Shape | string {
  const [n, e] = [member(key, 'n'), member(key, 'e')]
  if (!isBase64Url(n) || !isBase64Url(e)) return 'its "n" or "e" is not base64url'
  const fault = rsaFault(Buffer.from(n, 'base64url'), Buffer.from(e, 'base64url'))
  return fault ?? { jwk: { kty: 'RSA', n, e }, algorithms: RSA_ALGORITHMS }
}

function curveKey(key: JsonObject): Shape | string {
  const crv = member(key, 'crv')
  const curve = CURVES.get(crv)
  if (curve === undefined || typeof crv !== 'string')
    return 'its "crv" is not P-256, P-384 or P-521'
  const [x, y] = [member(key, 'x'), member(key, 'y')]
  if (!isBase64Url(x, curve.bytes) || !isBase64Url(y, curve.bytes))
    return `its "x" or "y" is not base64url of ${curve.bytes} bytes`
  return { jwk: { kty: 'EC', crv, x, y }, algorithms: [curve.algorithm] }
}

function edwardsKey(key: JsonObject): Shape | string {
  const x = member(key, 'x')
  if (member(key, 'crv') !== 'Ed25519') return 'its "crv" is not Ed25519'
  if (!isBase64Url(x, 32)) return 'its "x" is not base64url of 32 bytes'
  const fault = ed25519Fault(Buffer.from(x, 'base64url'))
  return fault ?? { jwk: { kty: 'OKP', crv: 'Ed25519', x }, algorithms: ED25519_ALGORITHMS }
}

function isBase64Url(value: Json | undefined, bytes?: number): value is string {
  if (typeof value !== 'string' || !/^[A-Za-z0-9_-]+$/.test(value)) return false
  return bytes === undefined || Buffer.byteLength(value, 'base64url') === bytes
}
