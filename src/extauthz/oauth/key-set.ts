// Selects and imports the keys of a provider's JSON Web Key Set (RFC 7517) that may verify signatures, with reasons for
// the others. An entry that is no key, or that cannot be used, costs that entry alone (section 5).

import { createPublicKey, hash, type KeyObject, X509Certificate } from 'node:crypto'
import { memoWork } from '../../kit/incremental/memo.js'
import type { Work } from '../../kit/turns.js'
import { isJsonObject, type Json, type JsonObject } from '../../model/json.js'
import { ed25519Fault } from './edwards-key.js'

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
  /** Thumbprints of its certificate, in base64url: "x5t" and "x5t#S256" (RFC 7517 sections 4.8 and 4.9), or those of "x5c". */
  readonly thumbprints: readonly string[]
  /** Algorithms that its type and its "alg" allow. */
  readonly algorithms: readonly SignatureAlgorithm[]
  readonly key: KeyObject
}

/** The members of a public key, and no others. */
type PublicJwk =
  | { readonly kty: 'RSA'; readonly n: string; readonly e: string }
  | { readonly kty: 'EC'; readonly crv: string; readonly x: string; readonly y: string }
  | { readonly kty: 'OKP'; readonly crv: 'Ed25519'; readonly x: string }

/** An entry that is not used. */
export interface SkippedKey {
  readonly kid?: string
  /** Its place in "keys", from 0; absent: the set as a whole. */
  readonly index?: number
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

/**
 * Selects and imports the usable keys of a set, with a yield after each: the largest set takes tens of milliseconds. Kept
 * on the set, which the status and the table both ask about.
 */
export const describeKeySet = memoWork(function* (jwks: JsonObject): Work<KeySetDescription> {
  const keys = Object.hasOwn(jwks, 'keys') ? jwks['keys'] : undefined
  if (!Array.isArray(keys))
    return { usable: [], skipped: [{ reason: 'the document has no list of "keys"' }] }
  const usable = new Map<string, UsableKey>()
  const skipped: SkippedKey[] = []
  for (const [index, entry] of (keys as readonly Json[]).entries()) {
    const outcome = index < MAX_KEYS ? readKey(entry) : `there are more than ${MAX_KEYS} keys`
    if (typeof outcome === 'string') skipped.push({ ...kidOf(entry), index, reason: outcome })
    // An entry that says again what another one says is no second key (decision 5a).
    else
      usable.set(
        JSON.stringify({ ...outcome, key: outcome.key.export({ format: 'jwk' }) }),
        outcome,
      )
    yield
  }
  return { usable: [...usable.values()], skipped }
})

function kidOf(entry: Json): { readonly kid?: string } {
  const kid = isJsonObject(entry) ? jwkMember(entry, 'kid') : undefined
  return typeof kid === 'string' ? { kid } : {}
}

function readKey(entry: Json): UsableKey | string {
  if (!isJsonObject(entry)) return 'it is not an object'
  const fault = commonFault(entry)
  if (fault !== undefined) return fault
  const own = isCertificateAlone(entry) ? certificateKey(entry) : entry
  const shape = typeof own === 'string' ? own : publicKey(own)
  if (typeof shape === 'string') return shape
  const alg = jwkMember(entry, 'alg')
  const algorithms = shape.algorithms.filter((name) => alg === undefined || name === alg)
  if (algorithms.length === 0) return 'its "alg" is not a signature algorithm of its type'
  const key = imported(shape.jwk)
  return key === undefined
    ? 'its numbers are not those of a public key'
    : {
        ...kidOf(entry),
        thumbprints: certificateThumbprints(entry),
        algorithms: withSynonym(algorithms),
        key,
      }
}

/** The numbers of a public key. */
const KEY_NUMBERS = ['n', 'e', 'x', 'y']

const isCertificateAlone = (entry: JsonObject): boolean =>
  jwkMember(entry, 'x5c') !== undefined &&
  KEY_NUMBERS.every((name) => jwkMember(entry, name) === undefined)

/** undefined: e.g. a point that is not on its curve. */
function imported(jwk: PublicJwk): KeyObject | undefined {
  try {
    return createPublicKey({ key: { ...jwk }, format: 'jwk' })
  } catch {
    return undefined
  }
}

/** Adds the synonym: RFC 9864 calls Ed25519 what RFC 8037 calls EdDSA, with the same keys. */
const withSynonym = (algorithms: readonly SignatureAlgorithm[]): readonly SignatureAlgorithm[] =>
  algorithms.some((algorithm) => algorithm === 'EdDSA' || algorithm === 'Ed25519')
    ? ED25519_ALGORITHMS
    : algorithms

function commonFault(key: JsonObject): string | undefined {
  const [kid, use, operations] = ['kid', 'use', 'key_ops'].map((name) => jwkMember(key, name))
  if (kid !== undefined && typeof kid !== 'string') return 'its "kid" is not a string'
  if (use !== undefined && use !== 'sig') return 'its "use" is not "sig"'
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify')))
    return 'its "key_ops" do not include "verify"'
  if (PRIVATE_MEMBERS.some((name) => jwkMember(key, name) !== undefined))
    return 'it is a secret or private key: anybody who reads the key set could sign'
  return undefined
}

interface Shape {
  readonly jwk: PublicJwk
  readonly algorithms: readonly SignatureAlgorithm[]
}

function publicKey(key: JsonObject): Shape | string {
  switch (jwkMember(key, 'kty')) {
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
  const [n, e] = [jwkMember(key, 'n'), jwkMember(key, 'e')]
  if (!isBase64Url(n) || !isBase64Url(e)) return 'its "n" or "e" is not base64url'
  const fault = rsaFault(Buffer.from(n, 'base64url'), Buffer.from(e, 'base64url'))
  return fault ?? { jwk: { kty: 'RSA', n, e }, algorithms: RSA_ALGORITHMS }
}

function curveKey(key: JsonObject): Shape | string {
  const crv = jwkMember(key, 'crv')
  const curve = CURVES.get(crv)
  if (curve === undefined || typeof crv !== 'string')
    return 'its "crv" is not P-256, P-384 or P-521'
  const [x, y] = [jwkMember(key, 'x'), jwkMember(key, 'y')]
  if (!isBase64Url(x, curve.bytes) || !isBase64Url(y, curve.bytes))
    return `its "x" or "y" is not base64url of ${curve.bytes} bytes`
  return { jwk: { kty: 'EC', crv, x, y }, algorithms: [curve.algorithm] }
}

function edwardsKey(key: JsonObject): Shape | string {
  const x = jwkMember(key, 'x')
  if (jwkMember(key, 'crv') !== 'Ed25519') return 'its "crv" is not Ed25519'
  if (!isBase64Url(x, 32)) return 'its "x" is not base64url of 32 bytes'
  const fault = ed25519Fault(Buffer.from(x, 'base64url'))
  return fault ?? { jwk: { kty: 'OKP', crv: 'Ed25519', x }, algorithms: ED25519_ALGORITHMS }
}

// Rejects weak RSA public keys by their numbers alone: size, exponent and the ROCA fingerprint.

const MIN_BITS = 2048
/** Maximum size of a modulus: larger ones cost too much to verify for an unauthenticated token. */
const MAX_BITS = 8192
const MAX_EXPONENT_BITS = 64

/**
 * Returns the weakness of a key for a person, or undefined. Both numbers are unsigned and big-endian. Sizes are checked
 * first: a number of a megabyte is never computed with.
 */
function rsaFault(modulus: Uint8Array, exponent: Uint8Array): string | undefined {
  const bits = bitLength(modulus)
  if (bits < MIN_BITS) return `its modulus has ${bits} bits; at least ${MIN_BITS} are needed`
  if (bits > MAX_BITS) return `its modulus has ${bits} bits; at most ${MAX_BITS} are allowed`
  if (bitLength(exponent) > MAX_EXPONENT_BITS) return EXPONENT
  const [n, e] = [toNumber(modulus), toNumber(exponent)]
  if (n % 2n === 0n) return 'its modulus is even'
  if (e < 3n || e % 2n === 0n) return EXPONENT
  return hasRocaFingerprint(n)
    ? 'its modulus is of the guessable kind of CVE-2017-15361'
    : undefined
}

const EXPONENT = 'its exponent is not an odd number from 3 to 2^64'

const toNumber = (bytes: Uint8Array): bigint => BigInt(`0x0${Buffer.from(bytes).toString('hex')}`)

function bitLength(number: Uint8Array): number {
  const first = number.findIndex((byte) => byte !== 0)
  return first === -1 ? 0 : 8 * (number.length - first) - Math.clz32(number[first] ?? 0) + 24
}

const GENERATOR = 65537

function powersOfGenerator(prime: number): ReadonlySet<number> {
  const powers = new Set<number>()
  for (let power = 1; !powers.has(power); power = (power * GENERATOR) % prime) powers.add(power)
  return powers
}

const ROCA_PRIMES = [11, 13, 17, 19, 37, 53, 61, 71, 73, 79, 97, 103, 107, 109, 127, 151, 157].map(
  (prime) => ({ prime: BigInt(prime), powers: powersOfGenerator(prime) }),
)

/** Keys of the faulty generator are powers of 65537 modulo each of these primes; others by chance, one in 2^28. */
const hasRocaFingerprint = (n: bigint): boolean =>
  ROCA_PRIMES.every(({ prime, powers }) => powers.has(Number(n % prime)))

// Reads members of an entry of a JSON Web Key Set (RFC 7517).

/**
 * A member of an entry's own; undefined also for null, "" and [], which providers write for what an entry does not have.
 */
function jwkMember(entry: JsonObject, name: string): Json | undefined {
  // A document must not be read through Object's prototype.
  const value = Object.hasOwn(entry, name) ? entry[name] : undefined
  const isAbsent = value === null || value === '' || (Array.isArray(value) && value.length === 0)
  return isAbsent ? undefined : value
}

/** Whether the value is base64url without padding (RFC 7515 section 2), and of that many bytes if a number is given. */
function isBase64Url(value: Json | undefined, bytes?: number): value is string {
  if (typeof value !== 'string' || !/^[A-Za-z0-9_-]+$/.test(value)) return false
  return bytes === undefined || Buffer.byteLength(value, 'base64url') === bytes
}

// Reads what an entry of a key set says by its certificate (RFC 7517 sections 4.7 to 4.9). The certificate is a container
// alone: the key is trusted because it is in the set, whoever issued the certificate and for how long.

/** Returns the members of the public key in the first certificate of "x5c", or a reason for a person. */
function certificateKey(entry: JsonObject): JsonObject | string {
  const der = firstCertificate(entry)
  const key = der && publicKeyOf(der)
  if (key === undefined) return 'its "x5c" does not begin with the certificate of a key'
  const other = ['kty', 'crv'].find((name) => {
    const stated = jwkMember(entry, name)
    return stated !== undefined && stated !== key[name]
  })
  return other === undefined ? key : `its "${other}" is not that of its "x5c"`
}

function publicKeyOf(der: Buffer): JsonObject | undefined {
  try {
    return new X509Certificate(der).publicKey.export({ format: 'jwk' }) as JsonObject
  } catch {
    return undefined
  }
}

/** Returns "x5t" and "x5t#S256" of an entry in base64url; those that are absent are made of the first certificate of "x5c". */
function certificateThumbprints(entry: JsonObject): readonly string[] {
  const der = firstCertificate(entry)
  return (['x5t', 'x5t#S256'] as const).flatMap((name) => {
    const stated = jwkMember(entry, name)
    if (typeof stated === 'string') return [stated]
    return der === undefined ? [] : [hash(DIGESTS[name], der, 'base64url')]
  })
}

const DIGESTS = { x5t: 'sha1', 'x5t#S256': 'sha256' }

/** The bytes of the first certificate of "x5c": base64 of DER, with padding, not base64url (RFC 7517 section 4.7). */
function firstCertificate(entry: JsonObject): Buffer | undefined {
  const chain = jwkMember(entry, 'x5c')
  const first: unknown = Array.isArray(chain) ? chain[0] : undefined
  return typeof first === 'string' && /^[A-Za-z0-9+/]+={0,2}$/.test(first)
    ? Buffer.from(first, 'base64')
    : undefined
}
