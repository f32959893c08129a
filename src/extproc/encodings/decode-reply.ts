// A reply's Content-Encoding → what reads its body, bounded (decision 18).

import { chain, type Decoder, identity } from './decoder.js'
import { brotliDecoder, deflateDecoder, gzipDecoder, zstdDecoder } from './zlib-decoder.js'

type Open = (maxBytes: number) => Decoder

const OPENERS: Readonly<Record<string, Open>> = {
  identity: () => identity,
  gzip: gzipDecoder,
  'x-gzip': gzipDecoder,
  br: brotliDecoder,
  deflate: deflateDecoder,
  zstd: zstdDecoder,
}

/** Nobody means more of them in one reply. */
const MAX_ENCODINGS = 4

/** In the order in which they were applied; undefined: one that we do not read, or too many. */
function openersOf(encoding: string): readonly Open[] | undefined {
  const names = encoding.split(',').flatMap((name) => name.trim().toLowerCase() || [])
  const known = names.flatMap((name) => (Object.hasOwn(OPENERS, name) && OPENERS[name]) || [])
  return known.length === names.length && names.length <= MAX_ENCODINGS ? known : undefined
}

/** encoding: names in the order in which they were applied (RFC 9110 section 8.4), with commas between them. */
export const isReadable = (encoding: string): boolean => openersOf(encoding) !== undefined

/** maxBytes: what one piece may stand for. undefined: an encoding that is not readable. */
export const decoderOf = (encoding: string, maxBytes: number): Decoder | undefined =>
  openersOf(encoding)?.reduceRight((outer, open) => chain(outer, open(maxBytes)), identity)

/** All of a body. undefined: not an encoding that we read, damaged, or larger than maxBytes. */
export async function decodeReply(
  body: Uint8Array,
  encoding: string,
  maxBytes: number,
): Promise<Uint8Array | undefined> {
  if (encoding === '') return body
  const decoder = decoderOf(encoding, maxBytes)
  if (decoder === undefined || decoder === identity) return decoder && body
  const decoded = await decoder.push(body)
  const rest = decoded && (await decoder.end())
  decoder.close()
  if (!rest || decoded.length + rest.length > maxBytes) return undefined
  return rest.length === 0 ? decoded : Buffer.concat([decoded, rest])
}

export const UNREADABLE_ENCODING = 'it is compressed in a way that cannot be read'
