// Seals (AES-256-GCM) and signs (HMAC-SHA-256) what clients keep in place of Gatehouse, such as a relay's codes, with a
// derived key per purpose (HKDF, RFC 5869), bound to the policy and to both issuers.

import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hkdfSync,
  timingSafeEqual,
} from 'node:crypto'
import { isJsonObject, type JsonObject, parseJson } from '../../model/json.js'
import type { Relay } from '../../model/relay.js'

/** What a sealed or signed value is for; each purpose has a key of its own. */
export type Purpose =
  'client' | 'consent-form' | 'consent' | 'state' | 'code' | 'refresh' | 'session'

/** Seals and opens the values of one policy. */
export interface Vault {
  /** Returns base64url. A member "exp" of value (seconds since the epoch) limits its validity. */
  seal(purpose: Purpose, value: JsonObject): string
  /** Returns undefined for a wrong purpose or key, or after expiry. now: milliseconds since the epoch. */
  open(purpose: Purpose, sealed: string, now: number): JsonObject | undefined
  /** Returns a unique value in base64url. */
  nonce(): string
  /** Returns the signature in base64url. */
  sign(purpose: Purpose, text: string): string
  isSigned(purpose: Purpose, text: string, signature: string): boolean
}

/** What a vault needs. */
export interface VaultDeps {
  /** Returns size unpredictable bytes. */
  random(size: number): Uint8Array
}

const IV_BYTES = 12
const TAG_BYTES = 16
const KEY_BYTES = 32
/** Maximum length of a sealed value, mostly a provider's code or refresh token; longer ones are rejected. */
const MAX_SEALED = 24 * 1024

/** What the values of a vault are bound to, and its keys. */
export type VaultBinding = Pick<Relay, 'policy' | 'issuer' | 'providerIssuer' | 'sealingKeys'>

/** Creates the vault of a policy. */
export function createVault(bound: VaultBinding, deps: VaultDeps): Vault {
  const materials = bound.sealingKeys.map((key) => Buffer.from(key, 'base64url'))
  const known = new Map<Purpose, readonly Buffer[]>()
  const keysFor = (purpose: Purpose): readonly Buffer[] => {
    const keys = known.get(purpose) ?? materials.map((material) => subKey(material, purpose))
    known.set(purpose, keys)
    return keys
  }
  const context = (purpose: Purpose): string =>
    JSON.stringify([purpose, bound.policy, bound.issuer, bound.providerIssuer])
  const writer = (purpose: Purpose): Buffer => keysFor(purpose)[0] ?? missingKey()

  return {
    seal(purpose, value) {
      const iv = Buffer.from(deps.random(IV_BYTES))
      const cipher = createCipheriv('aes-256-gcm', writer(purpose), iv)
      cipher.setAAD(Buffer.from(context(purpose)))
      const text = Buffer.concat([cipher.update(JSON.stringify(value), 'utf8'), cipher.final()])
      return Buffer.concat([iv, text, cipher.getAuthTag()]).toString('base64url')
    },
    open(purpose, sealed, now) {
      const bytes = bytesOf(sealed)
      if (bytes === undefined) return undefined
      for (const key of keysFor(purpose)) {
        const text = decrypt(key, context(purpose), bytes)
        const value = text && parseJson(text)
        if (isJsonObject(value)) return isOver(value, now) ? undefined : value
      }
      return undefined
    },
    nonce: () => Buffer.from(deps.random(IV_BYTES)).toString('base64url'),
    sign: (purpose, text) => hmac(writer(purpose), context(purpose), text).toString('base64url'),
    isSigned(purpose, text, signature) {
      const given = decoded(signature)
      return (
        given !== undefined &&
        keysFor(purpose).some((key) => isSame(given, hmac(key, context(purpose), text)))
      )
    },
  }
}

/** Never happens, as the translation rejects a policy without keys. Nothing may be sealed with a known key. */
function missingKey(): never {
  throw new RangeError('a vault without a key')
}

const subKey = (material: Buffer, purpose: Purpose): Buffer =>
  Buffer.from(hkdfSync('sha256', material, '', `gatehouse relay v1 ${purpose}`, KEY_BYTES))

function bytesOf(sealed: string): Buffer | undefined {
  const bytes = sealed.length > MAX_SEALED ? undefined : decoded(sealed)
  return bytes !== undefined && bytes.length > IV_BYTES + TAG_BYTES ? bytes : undefined
}

/** Decodes base64url in its one spelling: Node also skips characters, and takes those beyond Latin-1 for others. */
function decoded(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : undefined
}

function decrypt(key: Buffer, context: string, bytes: Buffer): Buffer | undefined {
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES), {
    authTagLength: TAG_BYTES,
  })
  decipher.setAAD(Buffer.from(context))
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
  const text = decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES))
  try {
    return Buffer.concat([text, decipher.final()])
  } catch {
    return undefined
  }
}

function isOver({ exp }: JsonObject, now: number): boolean {
  return exp !== undefined && !(typeof exp === 'number' && now < exp * 1000)
}

const hmac = (key: Buffer, context: string, text: string): Buffer =>
  createHmac('sha256', key).update(context).update('\n').update(text).digest()

const isSame = (a: Buffer, b: Buffer): boolean => a.length === b.length && timingSafeEqual(a, b)
