// Reads the compact form of a JWS strictly (RFC 7515 section 7.1).

import { parseNamed } from '../../kit/json/parse-named.js'
import { decodeUtf8 } from '../../kit/utf8.js'
import type { Json, JsonObject } from '../../model/json.js'

/** A token of the compact form whose payload and signature are decoded. */
export interface CompactParts {
  /** As received: header.payload.signature. */
  readonly token: string
  /** What is signed: header.payload. */
  readonly signed: string
  /** In base64url. */
  readonly header: string
  /** Not yet verified. */
  readonly payload: Uint8Array
  readonly signature: Uint8Array
}

/** A parsed token in the compact form. */
export interface Jws extends Omit<CompactParts, 'header'> {
  readonly header: JoseHeader
}

/** What is read of a token's header (RFC 7515 section 4.1). */
export interface JoseHeader {
  readonly algorithm: string
  readonly kid?: string
  /** x5t#S256 and x5t (sections 4.1.7 and 4.1.8), the stronger one first; absent: neither is there. */
  readonly thumbprints?: readonly string[]
  readonly type?: string
  /** Whether the type, if there is one, is that of an access token (isTokenType()). */
  readonly isToken: boolean
}

const BASE64URL = /^[A-Za-z0-9_-]+$/

/**
 * undefined: not of the compact form, or not canonical; a payload may be empty.
 * @param headers known headers, which are of that form.
 */
export function compactParts(token: string, headers: JoseHeaders): CompactParts | undefined {
  const first = token.indexOf('.')
  const second = token.indexOf('.', first + 1)
  if (first < 0 || second < 0 || second === token.length - 1) return undefined
  const header = token.slice(0, first)
  if (!headers.isKnown(header) && !BASE64URL.test(header)) return undefined
  // Node decodes these characters of base64, too.
  if (token.includes('+') || token.includes('/')) return undefined
  // And takes a character beyond Latin-1 for the one of its lowest byte.
  if (Buffer.byteLength(token) !== token.length) return undefined
  const payload = decodePart(token.slice(first + 1, second))
  const signature = payload && decodePart(token.slice(second + 1))
  return signature && { token, signed: token.slice(0, second), header, payload, signature }
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
  const headers = new JoseHeaders()
  const parts = compactParts(token, headers)
  return parts && readParts(parts, headers)
}

/** undefined: no JWS that could ever be accepted. */
export function readParts(
  { token, signed, header: text, payload, signature }: CompactParts,
  headers: JoseHeaders,
): Jws | undefined {
  const header = headers.read(text)
  return header && { token, signed, header, payload, signature }
}

const MAX_KNOWN_HEADERS = 64
const MAX_KNOWN_LENGTH = 512

/** Headers by their text in base64url: all tokens that a provider signs with one key have the same header. */
export class JoseHeaders {
  readonly #known = new Map<string, JoseHeader>()

  isKnown(text: string): boolean {
    return this.#known.has(text)
  }

  /** undefined: the header of no token that could ever be accepted. */
  read(text: string): JoseHeader | undefined {
    const known = this.#known.get(text)
    if (known !== undefined) return known
    const bytes = decodePart(text)
    const parsed = bytes && parseObject(decodeUtf8(bytes))
    const header = parsed && readHeader(parsed)
    if (header === undefined || text.length > MAX_KNOWN_LENGTH) return header
    if (this.#known.size === MAX_KNOWN_HEADERS) this.#known.clear()
    // Copied, as a substring would keep the whole token in memory.
    this.#known.set(Buffer.from(text, 'latin1').toString('latin1'), header)
    return header
  }
}

/**
 * Rejects crit (RFC 7515 section 4.1.11) and b64 (RFC 7797), which change what is signed: no extension is supported.
 * Ignores jwk, jku, x5c and x5u.
 */
function readHeader(header: JsonObject): JoseHeader | undefined {
  const field = (name: string): Json | undefined =>
    Object.hasOwn(header, name) ? header[name] : undefined
  const [algorithm, kid, type] = [field('alg'), field('kid'), field('typ')]
  if (field('crit') !== undefined || field('b64') !== undefined) return undefined
  if (typeof algorithm !== 'string') return undefined
  if (kid !== undefined && typeof kid !== 'string') return undefined
  if (type !== undefined && typeof type !== 'string') return undefined
  const thumbprints = [field('x5t#S256'), field('x5t')].filter(isText)
  return {
    algorithm,
    ...(kid !== undefined && { kid }),
    ...(thumbprints.length > 0 && { thumbprints }),
    ...(type !== undefined && { type }),
    isToken: isTokenType(type),
  }
}

const isText = (value: Json | undefined): value is string =>
  typeof value === 'string' && value !== ''

/** RFC 7519 section 5.1, RFC 9068 section 2.1: rejects tokens of other kinds, such as logout tokens and proofs. */
function isTokenType(type: string | undefined): boolean {
  if (type === undefined) return true
  const name = type.toLowerCase().replace(/^application\//, '')
  return name === 'jwt' || name === 'at+jwt'
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
