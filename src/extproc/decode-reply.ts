// A reply's body and its Content-Encoding → the bytes it stands for, bounded (decision 18).

import { promisify } from 'node:util'
import * as zlib from 'node:zlib'

type Decode = (body: Uint8Array, options: { maxOutputLength: number }) => Promise<Buffer>

const inflate = promisify<Uint8Array, zlib.ZlibOptions, Buffer>(zlib.inflate)
const inflateRaw = promisify<Uint8Array, zlib.ZlibOptions, Buffer>(zlib.inflateRaw)
const gunzip = promisify<Uint8Array, zlib.ZlibOptions, Buffer>(zlib.gunzip)
const brotli = promisify<Uint8Array, zlib.BrotliOptions, Buffer>(zlib.brotliDecompress)

const DECODERS: Readonly<Record<string, Decode>> = {
  gzip: gunzip,
  'x-gzip': gunzip,
  br: brotli,
  // RFC 9110 section 8.4.1.2: servers send it with and without the zlib frame.
  deflate: (body, options) =>
    ((body[0] ?? 0) & 0x0f) === 8 ? inflate(body, options) : inflateRaw(body, options),
}

/** encoding: lower-case. undefined: not an encoding that we read, damaged, or larger than maxBytes. */
export async function decodeReply(
  body: Uint8Array,
  encoding: string,
  maxBytes: number,
): Promise<Uint8Array | undefined> {
  if (encoding === '' || encoding === 'identity') return body
  const decode = Object.hasOwn(DECODERS, encoding) ? DECODERS[encoding] : undefined
  try {
    return await decode?.(body, { maxOutputLength: maxBytes })
  } catch {
    return undefined
  }
}
