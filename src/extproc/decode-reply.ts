// A reply's body and its Content-Encoding → the bytes it stands for, bounded (decision 18).

import { promisify } from 'node:util'
import * as zlib from 'node:zlib'
import { decodeZstd } from './decode-zstd.js'

/** Rejects for what is damaged or larger than maxBytes. */
type Decode = (body: Uint8Array, maxBytes: number) => Promise<Uint8Array>

const inflate = promisify<Uint8Array, zlib.ZlibOptions, Buffer>(zlib.inflate)
const inflateRaw = promisify<Uint8Array, zlib.ZlibOptions, Buffer>(zlib.inflateRaw)
const gunzip = promisify<Uint8Array, zlib.ZlibOptions, Buffer>(zlib.gunzip)
const brotli = promisify<Uint8Array, zlib.BrotliOptions, Buffer>(zlib.brotliDecompress)

const decodeGzip: Decode = (body, maxOutputLength) => gunzip(body, { maxOutputLength })

const DECODERS: Readonly<Record<string, Decode>> = {
  identity: (body) => Promise.resolve(body),
  gzip: decodeGzip,
  'x-gzip': decodeGzip,
  br: (body, maxOutputLength) => brotli(body, { maxOutputLength }),
  // RFC 9110 section 8.4.1.2: servers send it with and without the zlib frame.
  deflate: (body, maxOutputLength) =>
    ((body[0] ?? 0) & 0x0f) === 8
      ? inflate(body, { maxOutputLength })
      : inflateRaw(body, { maxOutputLength }),
  zstd: decodeZstd,
}

/** Nobody means more of them in one reply. */
const MAX_ENCODINGS = 4

/**
 * encoding: in the order in which they were applied (RFC 9110 section 8.4), with commas between them.
 * undefined: not an encoding that we read, damaged, or larger than maxBytes.
 */
export async function decodeReply(
  body: Uint8Array,
  encoding: string,
  maxBytes: number,
): Promise<Uint8Array | undefined> {
  const names = encoding.split(',').flatMap((name) => name.trim().toLowerCase() || [])
  if (names.length > MAX_ENCODINGS) return undefined
  let decoded = body
  try {
    for (const name of names.reverse()) {
      const decode = Object.hasOwn(DECODERS, name) ? DECODERS[name] : undefined
      if (decode === undefined) return undefined
      decoded = await decode(decoded, maxBytes)
    }
    return decoded
  } catch {
    return undefined
  }
}
