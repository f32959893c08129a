// Compact JWS (RFC 7515 section 7.1): strict parsing, and verification of the signature by node:crypto. A library such as
// jose verifies through WebCrypto, which is asynchronous: here a check with a small key ends in the same turn.

import { constants, type KeyObject, verify } from 'node:crypto'
import type { Json, JsonObject } from '../ir/json.js'
import { parseNamed } from '../json/parse-named.js'
import type { SignatureAlgorithm } from '../oauth/key-set.js'
import { decodeUtf8 } from '../utf8.js'

/** A token of the compact form whose payload and signature are decoded. */
export interface CompactParts {
  /** As received: header.payload.signature. */
  readonly token: string
  /** In base64url. */
  readonly header: string
  /** Not yet verified. */
  readonly payload: Uint8Array
  readonly signature: Uint8Array
}

/** A parsed token in the compact form. */
export interface Jws extends Omit<CompactParts, 'header'> {
  readonly algorithm: string
  readonly kid?: string
  readonly type?: string
}

/** A key that node:crypto has imported. */
export interface VerificationKey {
  readonly kid?: string
  /** The key as each of its algorithms takes it (keysFor()). */
  readonly keys: ReadonlyMap<string, AlgorithmKey>
  /** Whether its signatures are verified in another thread (isLarge()). */
  readonly isLarge: boolean
}

const BASE64URL = /^[A-Za-z0-9_-]+$/

/** undefined: not of the compact form, or not canonical; a payload may be empty. */
export function compactParts(token: string): CompactParts | undefined {
  const first = token.indexOf('.')
  const second = token.indexOf('.', first + 1)
  if (first < 0 || second < 0 || second === token.length - 1) return undefined
  const header = token.slice(0, first)
  if (!BASE64URL.test(header)) return undefined
  // Node decodes these characters of base64, too.
  if (token.includes('+') || token.includes('/')) return undefined
  const payload = decodePart(token.slice(first + 1, second))
  const signature = payload && decodePart(token.slice(second + 1))
  return signature && { token, header, payload, signature }
}

/**
 * undefined: not canonical base64url without padding. Node skips what it cannot read, so that the bytes are too few then:
 * a pattern would take longer than the decoding.
 */
function decodePart(part: string): Buffer | undefined {
  if (!isCanonical(part)) return undefined
  const bytes = Buffer.from(part, 'base64url')
  return bytes.length === Math.floor((part.length * 3) / 4) ? bytes : undefined
}

/** undefined: not a compact JWS that could ever be accepted. */
export function parseJws(token: string): Jws | undefined {
  const parts = compactParts(token)
  return parts && readParts(parts, new JwsHeaders())
}

/** undefined: no JWS that could ever be accepted. */
export function readParts(
  { token, header, payload, signature }: CompactParts,
  headers: JwsHeaders,
): Jws | undefined {
  const fields = headers.fields(header)
  return fields && { token, payload, signature, ...fields }
}

type HeaderFields = Pick<Jws, 'algorithm' | 'kid' | 'type'>

const MAX_KNOWN_HEADERS = 64
const MAX_KNOWN_LENGTH = 512

/** Parsed headers by their text: all tokens that a provider signs with one key have the same header. */
export class JwsHeaders {
  readonly #known = new Map<string, HeaderFields>()

  /** undefined: the header of no token that could ever be accepted. */
  fields(header: string): HeaderFields | undefined {
    const known = this.#known.get(header)
    if (known !== undefined) return known
    const bytes = decodePart(header)
    const parsed = bytes && parseObject(decodeUtf8(bytes))
    const fields = parsed && readHeader(parsed)
    if (fields === undefined || header.length > MAX_KNOWN_LENGTH) return fields
    if (this.#known.size === MAX_KNOWN_HEADERS) this.#known.clear()
    // Copied, as a substring would keep the whole token in memory.
    this.#known.set(Buffer.from(header, 'latin1').toString('latin1'), fields)
    return fields
  }
}

/**
 * Rejects crit (RFC 7515 section 4.1.11) and b64 (RFC 7797), which change what is signed: no extension is supported.
 * Ignores jwk, jku, x5c and x5u.
 */
function readHeader(header: JsonObject): HeaderFields | undefined {
  const field = (name: string): Json | undefined =>
    Object.hasOwn(header, name) ? header[name] : undefined
  const [algorithm, kid, type] = [field('alg'), field('kid'), field('typ')]
  if (field('crit') !== undefined || field('b64') !== undefined) return undefined
  if (typeof algorithm !== 'string') return undefined
  if (kid !== undefined && typeof kid !== 'string') return undefined
  if (type !== undefined && typeof type !== 'string') return undefined
  return { algorithm, ...(kid !== undefined && { kid }), ...(type !== undefined && { type }) }
}

/**
 * Whether a part is as long as base64 can be, without bits beyond the last byte. A signed token then has exactly one
 * spelling, so no variant of it is remembered as another token.
 */
function isCanonical(part: string): boolean {
  const rest = part.length % 4
  if (rest === 0) return true
  if (rest === 1) return false
  const spare = rest === 2 ? 0b1111 : 0b11
  return (ALPHABET.indexOf(part.charAt(part.length - 1)) & spare) === 0
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/** undefined: not UTF-8 text, not JSON, or not an object. */
export function parseObject(text: string | undefined): JsonObject | undefined {
  if (text === undefined) return undefined
  try {
    const value = parseNamed(text) as Json
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as JsonObject)
      : undefined
  } catch {
    return undefined
  }
}

/** Returns the only key that fits the header; undefined: none fits, or more than one does (decision 5). */
export function chooseKey(jws: Jws, keys: readonly VerificationKey[]): VerificationKey | undefined {
  const fitting = keys.filter(
    ({ kid, keys: own }) => (jws.kid === undefined || kid === jws.kid) && own.has(jws.algorithm),
  )
  return fitting.length === 1 ? fitting[0] : undefined
}

type Digest = 'sha256' | 'sha384' | 'sha512'

/** Digest of each algorithm (RFC 7518 section 3, RFC 8037 section 3.1); null: the algorithm hashes by itself. */
const DIGESTS: Readonly<Record<SignatureAlgorithm, Digest | null>> = {
  ...{ RS256: 'sha256', RS384: 'sha384', RS512: 'sha512' },
  ...{ PS256: 'sha256', PS384: 'sha384', PS512: 'sha512' },
  ...{ ES256: 'sha256', ES384: 'sha384', ES512: 'sha512' },
  ...{ EdDSA: null, Ed25519: null },
}

/** Largest RSA modulus verified on the event loop, in bits; larger ones would delay others and use a thread. */
const MAX_BITS_IN_PLACE = 4096

/**
 * True only if the key made the signature. The algorithm is the header's, which chooseKey() found among the key's.
 * Synchronous, since a thread costs several times as much as a verification of some 20 µs; a promise for large keys.
 */
export function verifyJws(
  { token, algorithm, signature }: Jws,
  verification: VerificationKey,
): boolean | Promise<boolean> {
  const algorithmKey = verification.keys.get(algorithm)
  if (algorithmKey === undefined) return false
  const { digest, key } = algorithmKey
  const signed = Buffer.from(token.slice(0, token.lastIndexOf('.')), 'latin1')
  if (verification.isLarge) return verifyInThread(digest, signed, key, signature)
  try {
    return verify(digest, signed, key, signature)
  } catch {
    return false
  }
}

/** Whether a signature of the key is verified in another thread. Node asks OpenSSL for the key's details each time. */
export const isLarge = (key: KeyObject): boolean =>
  (key.asymmetricKeyDetails?.modulusLength ?? 0) > MAX_BITS_IN_PLACE

const verifyInThread = (
  digest: Digest | null,
  signed: Uint8Array,
  key: KeyObject,
  signature: Uint8Array,
): Promise<boolean> =>
  new Promise((resolve) => {
    verify(digest, signed, key, signature, (error, isGood) => resolve(error === null && isGood))
  })

/** A key with the digest and the parameters of an algorithm. */
interface AlgorithmKey {
  readonly digest: Digest | null
  readonly key: KeyObject
}

/**
 * Returns a key as each of its algorithms takes it. node:crypto reads the parameters from the key itself: Node 24 verifies
 * RS256 and PS256 in 22 µs with a KeyObject, and in 34 µs with an object around it. A clone shares what OpenSSL has
 * imported, and takes 2 µs where importing it again would take 25.
 */
export const keysFor = (
  algorithms: readonly SignatureAlgorithm[],
  key: KeyObject,
): VerificationKey['keys'] =>
  new Map(
    algorithms.map((algorithm) => [
      algorithm,
      { digest: DIGESTS[algorithm], key: withParameters(algorithm, key) },
    ]),
  )

function withParameters(algorithm: SignatureAlgorithm, key: KeyObject): KeyObject {
  const parameters = parametersOf(algorithm)
  return parameters === undefined ? key : Object.assign(structuredClone(key), parameters)
}

/** JWS writes an ECDSA signature as r and s alone (RFC 7518 section 3.4). */
const ECDSA = { dsaEncoding: 'ieee-p1363' }
/** An RSA-PSS salt is as long as the digest (RFC 7518 section 3.5). */
const PSS = {
  padding: constants.RSA_PKCS1_PSS_PADDING,
  saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
}

function parametersOf(algorithm: SignatureAlgorithm): object | undefined {
  if (algorithm.startsWith('ES')) return ECDSA
  return algorithm.startsWith('PS') ? PSS : undefined
}
