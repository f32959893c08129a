// RS256, RS384 and RS512 (RFC 8017 section 8.2.2): only the one encoding of the digest is accepted, as by OpenSSL. A
// reader of the padding or of the DigestInfo that skips what it does not know accepts what others have forged.

import { constants, createHash, generateKeyPairSync, privateEncrypt } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { runs } from '../support/runs.js'
import { verifyWithKeySet } from './jws-level.js'

/** Not a multiple of 8, so that the length of a signature is rounded up. */
const BITS = 2052
const LENGTH = 257

const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: BITS })
const jwk = publicKey.export({ format: 'jwk' })
const modulus = BigInt(`0x${Buffer.from(String(jwk.n), 'base64url').toString('hex')}`)

const ALGORITHMS = {
  RS256: { digest: 'sha256', oid: '0609608648016503040201' },
  RS384: { digest: 'sha384', oid: '0609608648016503040202' },
  RS512: { digest: 'sha512', oid: '0609608648016503040203' },
} as const
type Algorithm = keyof typeof ALGORITHMS
const NAMES = Object.keys(ALGORITHMS) as Algorithm[]

const base64url = (text: string): string => Buffer.from(text).toString('base64url')
const signedBy = (algorithm: Algorithm): string =>
  `${base64url(`{"alg":"${algorithm}"}`)}.${base64url('{"sub":"someone"}')}`

function der(tag: string, ...values: readonly string[]): string {
  const hex = values.join('')
  return tag + (hex.length / 2).toString(16).padStart(2, '0') + hex
}
const digestOf = (algorithm: Algorithm): string =>
  createHash(ALGORITHMS[algorithm].digest).update(signedBy(algorithm)).digest('hex')

interface Encoding {
  readonly parameters?: string
  readonly oid?: string
  readonly digest?: string
  /** After the digest, within the outer sequence. */
  readonly within?: string
  /** After the outer sequence. */
  readonly after?: string
  readonly start?: string
  readonly padding?: string
}

/** EMSA-PKCS1-v1_5 (RFC 8017 section 9.2), with changes. */
function encoded(algorithm: Algorithm, change: Encoding = {}): Buffer {
  const { oid = ALGORITHMS[algorithm].oid, parameters = '0500' } = change
  const { digest = digestOf(algorithm), within = '', after = '' } = change
  const info = der('30', der('30', oid, parameters), der('04', digest), within) + after
  const { start = '0001', padding = 'ff'.repeat(LENGTH - 3 - info.length / 2) } = change
  const bytes = Buffer.from(`${start}${padding}00${info}`, 'hex')
  return Buffer.concat([bytes, Buffer.alloc(LENGTH)]).subarray(0, LENGTH)
}

/** Signs what is said to be the encoded digest, whatever it is. */
const sign = (bytes: Buffer): Buffer =>
  privateEncrypt({ key: privateKey, padding: constants.RSA_NO_PADDING }, bytes)

function isAccepted(algorithm: Algorithm, signature: Buffer): Promise<boolean> {
  const signed = signedBy(algorithm)
  const token = `${signed}.${signature.toString('base64url')}`
  return verifyWithKeySet(token, { keys: [{ ...jwk, alg: algorithm }] })
}

const bytesOf = (value: bigint, length: number): Buffer =>
  Buffer.from(value.toString(16).padStart(length * 2, '0'), 'hex')
const valueOf = (bytes: Buffer): bigint => BigInt(`0x${bytes.toString('hex')}`)

describe.each(NAMES)('%s', (algorithm) => {
  test('accepts the encoding', async () => {
    expect(await isAccepted(algorithm, sign(encoded(algorithm)))).toBe(true)
  })

  test.each<readonly [string, Encoding]>([
    ['no parameters', { parameters: '' }],
    ['parameters of another type', { parameters: '3000' }],
    ['parameters that are not empty', { parameters: '050100' }],
    ['the length of the parameters in two bytes', { parameters: '058100' }],
    ['another value within', { within: '0500' }],
    ['bytes after the DigestInfo', { after: '00ff' }],
    ['little padding, and bytes after the DigestInfo', { padding: 'ff'.repeat(8) }],
    ['no padding, and bytes after the DigestInfo', { padding: '' }],
    ['padding of other bytes', { padding: '01'.repeat(LENGTH - 160) }],
    ['padding for encryption', { start: '0002' }],
    ['padding of type 0', { start: '0000' }],
    ['another first byte', { start: '0101' }],
    ['a digest under the name of SHA-1', { oid: '06052b0e03021a' }],
    ['a digest of nothing', { digest: '' }],
  ])('refuses %s', async (_, change) => {
    expect(await isAccepted(algorithm, sign(encoded(algorithm, change)))).toBe(false)
  })

  test('refuses the digest without a DigestInfo', async () => {
    const digest = Buffer.from(digestOf(algorithm), 'hex')
    const padding = Buffer.alloc(LENGTH - 3 - digest.length, 0xff)
    const bytes = Buffer.concat([Buffer.of(0, 1), padding, Buffer.of(0), digest])
    expect(await isAccepted(algorithm, sign(bytes))).toBe(false)
  })

  test('refuses a signature of another length, also where its value is the same', async () => {
    const signature = sign(encoded(algorithm))
    expect(await isAccepted(algorithm, Buffer.concat([Buffer.of(0), signature]))).toBe(false)
    expect(await isAccepted(algorithm, signature.subarray(1))).toBe(false)
    expect(await isAccepted(algorithm, Buffer.concat([signature, Buffer.of(0)]))).toBe(false)
    expect(await isAccepted(algorithm, Buffer.of(0))).toBe(false)
  })

  test('refuses a signature whose first byte is 0 and left out', async () => {
    // Four bits are in the first byte of this modulus: one signature of about twelve begins with 0.
    for (let at = 0; ; at += 1) {
      const signed = `${signedBy(algorithm)}${'A'.repeat(at * 4)}`
      const digest = createHash(ALGORITHMS[algorithm].digest).update(signed).digest('hex')
      const signature = sign(encoded(algorithm, { digest }))
      if (signature[0] !== 0) continue
      const keys = { keys: [{ ...jwk, alg: algorithm }] }
      const token = (bytes: Buffer): string => `${signed}.${bytes.toString('base64url')}`
      expect(await verifyWithKeySet(token(signature), keys)).toBe(true)
      expect(await verifyWithKeySet(token(signature.subarray(1)), keys)).toBe(false)
      return
    }
  })

  test('refuses a signature that is not below the modulus', async () => {
    const value = valueOf(sign(encoded(algorithm)))
    for (const larger of [value + modulus, modulus, modulus - 1n, 0n, 1n])
      expect(await isAccepted(algorithm, bytesOf(larger, LENGTH))).toBe(false)
  })

  test('refuses every other signature and every other encoding', async () => {
    const good = encoded(algorithm)
    const signature = sign(good)
    const flip = (bytes: Buffer, bit: number): Buffer => {
      const changed = Buffer.from(bytes)
      changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
      return changed
    }
    // The first bits would make the number larger than the modulus, which privateEncrypt() refuses to sign.
    const bit = fc.integer({ min: 16, max: LENGTH * 8 - 1 })
    await fc.assert(
      fc.asyncProperty(bit, async (at) => {
        expect(await isAccepted(algorithm, flip(signature, at))).toBe(false)
        expect(await isAccepted(algorithm, sign(flip(good, at)))).toBe(false)
      }),
      { numRuns: runs(300) },
    )
  })
})
