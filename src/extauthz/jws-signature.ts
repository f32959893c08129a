// Verifies the signature of a JWS by node:crypto. A library such as jose verifies through WebCrypto, which is asynchronous:
// here a check with a small key ends in the same turn.

import { constants, hash, type KeyObject, publicDecrypt, verify } from 'node:crypto'
import type { SignatureAlgorithm } from '../oauth/key-set.js'
import type { JoseHeader, Jws } from './jws.js'

/** A key that node:crypto has imported. */
export interface VerificationKey {
  readonly kid?: string
  /** By the name of each algorithm that the key may be used with. */
  readonly verifiers: ReadonlyMap<string, Verifier>
}

/**
 * True only if the key made the signature. A promise for a large key.
 * @param signed ASCII.
 */
type Verifier = (signed: string, signature: Uint8Array) => boolean | Promise<boolean>

/** Returns the only key that fits the header; undefined: none fits, or more than one does (decision 5). */
export function chooseKey(
  header: JoseHeader,
  keys: readonly VerificationKey[],
): VerificationKey | undefined {
  const fitting = keys.filter(
    ({ kid, verifiers }) =>
      (header.kid === undefined || kid === header.kid) && verifiers.has(header.algorithm),
  )
  return fitting.length === 1 ? fitting[0] : undefined
}

/** Verifies by the algorithm of the header, which chooseKey() found among the key's. */
export const verifyJws = (
  { header, signed, signature }: Jws,
  { verifiers }: VerificationKey,
): boolean | Promise<boolean> => verifiers.get(header.algorithm)?.(signed, signature) ?? false

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

/** A thread costs several times as much as a verification of some 20 µs in place. */
export function verifiersFor(
  algorithms: readonly SignatureAlgorithm[],
  key: KeyObject,
): VerificationKey['verifiers'] {
  // Node asks OpenSSL for the key's details each time.
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0
  return new Map(algorithms.map((algorithm) => [algorithm, verifierFor(algorithm, key, bits)]))
}

function verifierFor(algorithm: SignatureAlgorithm, key: KeyObject, bits: number): Verifier {
  const digest = DIGESTS[algorithm]
  if (bits > MAX_BITS_IN_PLACE) return inThread(digest, withParameters(algorithm, key))
  return algorithm.startsWith('RS') && digest !== null
    ? byDigestInfo(digest, key, Math.ceil(bits / 8))
    : inPlace(digest, withParameters(algorithm, key))
}

const inThread =
  (digest: Digest | null, key: KeyObject): Verifier =>
  (signed, signature) =>
    new Promise((resolve) => {
      verify(digest, Buffer.from(signed), key, signature, (error, isGood) =>
        resolve(error === null && isGood),
      )
    })

const inPlace =
  (digest: Digest | null, key: KeyObject): Verifier =>
  (signed, signature) =>
    orFalse(() => verify(digest, Buffer.from(signed), key, signature))

/** DER of a DigestInfo up to the digest, in hex (RFC 8017 section 9.2, note 1). */
const DIGEST_INFOS: Readonly<Record<Digest, string>> = {
  sha256: '3031300d060960864801650304020105000420',
  sha384: '3041300d060960864801650304020205000430',
  sha512: '3051300d060960864801650304020305000440',
}

/**
 * RSASSA-PKCS1-v1_5 (RFC 8017 section 8.2.2) as OpenSSL's RSA_verify() does it: OpenSSL undoes RSA and its padding, and what
 * is left must be the DigestInfo and nothing else. Node's verify() does the same, but makes a job for it and has OpenSSL look
 * up several algorithms: up to a tenth of a check more.
 * @param length of the modulus, and so of every signature, in bytes.
 */
function byDigestInfo(digest: Digest, key: KeyObject, length: number): Verifier {
  const info = DIGEST_INFOS[digest]
  return (signed, signature) =>
    signature.length === length &&
    orFalse(
      () => publicDecrypt(key, signature).toString('hex') === info + hash(digest, signed, 'hex'),
    )
}

/** node:crypto throws for some of the signatures that are not good. */
function orFalse(isGood: () => boolean): boolean {
  try {
    return isGood()
  } catch {
    return false
  }
}

/**
 * Returns the key as verify() takes it for the algorithm, which reads the parameters from the key itself: Node 24 verifies
 * PS256 in 22 µs with a KeyObject, and in 34 µs with an object around it. A clone shares what OpenSSL has imported, and
 * takes 2 µs where importing it again would take 25.
 */
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
