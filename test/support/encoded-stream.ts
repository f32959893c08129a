// Encodes texts like a server that flushes after each: one piece per text, and the end of the body.

import { finished } from 'node:stream/promises'
import * as zlib from 'node:zlib'
import { frame } from '../extproc/support/zstd.js'

type Encoder = zlib.Gzip | zlib.Deflate | zlib.DeflateRaw | zlib.BrotliCompress

const byStream = (open: () => Encoder) => async (texts: readonly string[]) => {
  const stream = open()
  const pieces: Buffer[] = []
  let piece: Buffer[] = []
  stream.on('data', (bytes: Buffer) => piece.push(bytes))
  const cut = (): void => {
    pieces.push(Buffer.concat(piece))
    piece = []
  }
  for (const text of texts) {
    await new Promise<void>((resolve) => {
      stream.write(text)
      stream.flush(resolve)
    })
    cut()
  }
  await finished(stream.end())
  cut()
  return pieces
}

/** Writes each text as a raw block, without an encoder. */
function zstd(texts: readonly string[]): Promise<readonly Buffer[]> {
  const all = frame(
    4,
    [...texts, ''].map((text) => ({ type: 'raw', content: Buffer.from(text) })),
  )
  const ends = texts.reduce<number[]>(
    (places, text) => [...places, (places.at(-1) ?? 6) + 3 + Buffer.byteLength(text)],
    [],
  )
  return Promise.resolve(
    [...ends, all.length].map((end, at) => all.subarray(ends[at - 1] ?? 0, end)),
  )
}

export const ENCODERS: Readonly<
  Record<string, (texts: readonly string[]) => Promise<readonly Buffer[]>>
> = {
  gzip: byStream(() => zlib.createGzip()),
  deflate: byStream(() => zlib.createDeflate()),
  ' Deflate': byStream(() => zlib.createDeflateRaw()),
  br: byStream(() => zlib.createBrotliCompress()),
  zstd,
}

export function flushed(encoding: string, texts: readonly string[]): Promise<readonly Buffer[]> {
  const encode = ENCODERS[encoding]
  if (encode === undefined) throw new Error(`no encoder for ${encoding}`)
  return encode(texts)
}
