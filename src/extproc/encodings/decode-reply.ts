// Decodes a reply's body by its Content-Encoding, within a byte limit (decision 18).

import { chain, type Decoder, type DecoderLimits, identity } from './decoder.js'
import { brotliDecoder, deflateDecoder, gzipDecoder, zstdDecoder } from './zlib-decoder.js'

type Open = (limits: DecoderLimits) => Decoder

const OPENERS: Readonly<Record<string, Open>> = {
  identity: () => identity,
  gzip: gzipDecoder,
  'x-gzip': gzipDecoder,
  br: brotliDecoder,
  deflate: deflateDecoder,
  zstd: zstdDecoder,
}

/** Maximum number of encodings accepted for one reply. */
const MAX_ENCODINGS = 4

/**
 * Returns the decoder factories in the order the encodings were applied; undefined: one is not supported, or too many.
 */
function openersOf(encoding: string): readonly Open[] | undefined {
  const names = encoding.split(',').flatMap((name) => name.trim().toLowerCase() || [])
  const known = names.flatMap((name) => (Object.hasOwn(OPENERS, name) && OPENERS[name]) || [])
  return known.length === names.length && names.length <= MAX_ENCODINGS ? known : undefined
}

/**
 * Whether a body with this encoding can be decoded. encoding: comma-separated names in the order applied (RFC 9110
 * section 8.4).
 */
export const isReadable = (encoding: string): boolean => openersOf(encoding) !== undefined

/** Returns a decoder, or undefined if the encoding is not supported. */
export const decoderOf = (encoding: string, limits: DecoderLimits): Decoder | undefined =>
  openersOf(encoding)?.reduceRight((outer, open) => chain(outer, open(limits)), identity)

/**
 * Decodes a whole body. undefined: the encoding is not supported, the body is damaged, or its decoded form exceeds
 * the limits.
 */
export async function decodeReply(
  body: Uint8Array,
  encoding: string,
  limits: DecoderLimits,
): Promise<Uint8Array | undefined> {
  if (encoding === '') return body
  const decoder = decoderOf(encoding, limits)
  if (decoder === undefined || decoder === identity) return decoder && body
  const decoded = await decoder.push(body)
  const rest = decoded && (await decoder.end())
  decoder.close()
  if (!rest || decoded.length + rest.length > limits.maxBytes) return undefined
  return rest.length === 0 ? decoded : Buffer.concat([decoded, rest])
}

/** Why a reply with an unknown or damaged encoding is not read. */
export const UNREADABLE_ENCODING = 'it is compressed in a way that cannot be read'
