// Verifies the signature of a JWS by node:crypto. A library such as jose verifies through WebCrypto, which is asynchronous:
// here a check with a small key ends in the same turn.

import { constants, type KeyObject, verify } from 'node:crypto'
import type { SignatureAlgorithm } from '../oauth/key-set.js'
import type { JoseHeader, Jws } from './jws.js'

/** A key that node:crypto has imported. */
export interface VerificationKey {
  readonly kid?: string
  /** Thumbprints of its certificate, in base64url. */
  readonly thumbprints: readonly string[]
  readonly key: KeyObject
  /** By the name of each algorithm that the key may be used with. */
  readonly verifiers: ReadonlyMap<string, Verifier>
}

/**
 * True only if the key made the signature. A promise for a large key.
 * @param signed ASCII.
 */
type Verifier = (signed: string, signature: Uint8Array) => boolean | Promise<boolean>

/** Maximum number of keys that a token is tried with: anybody can send one that costs so many verifications. */
const MAX_TRIED = 8

/**
 * Returns the keys that may have signed a token (decision 5): the one of its kid, else the one of its certificate, else, in
 * the order of the set, those that fit its algorithm. Where two keys have the one name, neither is among them (5a).
 */
export function keysFor(
  { algorithm, kid: wanted, thumbprints = [] }: JoseHeader,
  keys: readonly VerificationKey[],
): readonly VerificationKey[] {
  const fitting = keys.filter(({ verifiers }) => verifiers.has(algorithm))
  if (wanted !== undefined) return onlyOne(fitting.filter(({ kid = '' }) => kid === wanted))
  for (const thumbprint of thumbprints) {
    const named = fitting.filter((key) => key.thumbprints.includes(thumbprint))
    if (named.length > 0) return onlyOne(named)
  }
  const kids = fitting.map(({ kid }) => kid)
  const isAlone = ({ kid }: VerificationKey): boolean =>
    kid === undefined || kids.indexOf(kid) === kids.lastIndexOf(kid)
  return fitting.filter(isAlone).slice(0, MAX_TRIED)
}

const onlyOne = (keys: readonly VerificationKey[]): readonly VerificationKey[] =>
  keys.length === 1 ? keys : []

/** Tries the keys in turn, each by the algorithm of the header, which keysFor() found among the key's. */
export function verifyJws(
  jws: Jws,
  [key, ...others]: readonly VerificationKey[],
): boolean | Promise<boolean> {
  if (key === undefined) return false
  const isGood = key.verifiers.get(jws.header.algorithm)?.(jws.signed, jws.signature) ?? false
  if (typeof isGood === 'boolean') return isGood || verifyJws(jws, others)
  return isGood.then((good) => good || verifyJws(jws, others))
}

type Digest = 'sha256' | 'sha384' | 'sha512'

/** Digest of each algorithm (RFC 7518 section 3, RFC 8037 section 3.1); null: the algorithm hashes by itself. */
const DIGESTS: Readonly<Record<SignatureAlgorithm, Digest | null>> = {
  RS256: 'sha256',
  RS384: 'sha384',
  RS512: 'sha512',
  PS256: 'sha256',
  PS384: 'sha384',
  PS512: 'sha512',
  ES256: 'sha256',
  ES384: 'sha384',
  ES512: 'sha512',
  EdDSA: null,
  Ed25519: null,
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
  const verifiable = withParameters(algorithm, key)
  return bits > MAX_BITS_IN_PLACE ? inThread(digest, verifiable) : inPlace(digest, verifiable)
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
