// Content encodings of replies: what each one means, and that none can exhaust memory or time.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeReply } from '../../../src/extproc/encodings/decode-reply.js'
import { runs } from '../../support/runs.js'
import { endless, frame, mebibyte } from '../support/zstd.js'

const MAX = 1024 * 1024
const text = (decoded: Uint8Array | undefined) => decoded && Buffer.from(decoded).toString()
const decode = async (body: Uint8Array, encoding: string) =>
  text(await decodeReply(body, encoding, { maxBytes: MAX }))
const raw = (content: string) => frame(0, [{ type: 'raw', content: Buffer.from(content) }])

describe('what is read', () => {
  test.each<[string, Uint8Array]>([
    ['', Buffer.from('hi')],
    ['identity', Buffer.from('hi')],
    ['gzip', gzipSync('hi')],
    ['x-gzip', gzipSync('hi')],
    ['GZIP', gzipSync('hi')],
    ['br', brotliCompressSync('hi')],
    ['deflate', deflateSync('hi')],
    ['deflate', deflateRawSync('hi')],
    ['zstd', raw('hi')],
    ['deflate, gzip', gzipSync(deflateSync('hi'))],
    ['gzip,identity,,br', brotliCompressSync(gzipSync('hi'))],
    ['br, zstd', frame(0, [{ type: 'raw', content: brotliCompressSync('hi') }])],
  ])('%s', async (encoding, body) => {
    expect(await decode(body, encoding)).toBe('hi')
  })

  test.each(['streamed', 'single-segment'])('zstd of an encoder, %s', async (kind) => {
    const body = readFileSync(join(import.meta.dirname, `../support/numbers-${kind}.zst`))
    const numbers = Array.from({ length: 40_000 }, (_, index) => (index * index) % 997)
    expect(await decode(body, 'zstd')).toBe(JSON.stringify(numbers))
  })
})

describe('what is not', () => {
  test.each<[string, string, Uint8Array]>([
    ['an encoding that we do not know', 'compress', Buffer.from('hi')],
    ['a member of every object', 'constructor', Buffer.from('hi')],
    ['one of several that we do not know', 'gzip, compress', gzipSync('hi')],
    ['encodings in the wrong order', 'gzip, br', gzipSync(brotliCompressSync('hi'))],
    ['too many', 'identity, identity, identity, identity, identity', Buffer.from('hi')],
    ['damaged gzip', 'gzip', gzipSync('hi').subarray(0, -1)],
    ['damaged deflate', 'deflate', deflateSync('hi').subarray(0, -1)],
    ['damaged br', 'br', brotliCompressSync('hi').subarray(0, -1)],
    ['zstd that breaks off', 'zstd', raw('hi').subarray(0, -1)],
    ['zstd with more after it', 'zstd', Buffer.concat([raw('hi'), raw('ho')])],
    ['zstd that is none', 'zstd', Buffer.from('{"choices":[]}')],
  ])('%s', async (_name, encoding, body) => {
    expect(await decode(body, encoding)).toBeUndefined()
  })

  test('zstd that anything was done to: an answer or none, never a failure', async () => {
    const body = readFileSync(join(import.meta.dirname, '../support/numbers-streamed.zst'))
    await fc.assert(
      fc.asyncProperty(fc.nat(body.length - 1), fc.nat(255), async (index, byte) => {
        const damaged = Buffer.from(body)
        damaged[index] = byte
        await decodeReply(damaged, 'zstd', { maxBytes: MAX })
      }),
      { numRuns: runs(50) },
    )
  })
})

describe('bombs', () => {
  const zeros = Buffer.alloc(16 * MAX)
  test.each<[string, Uint8Array]>([
    ['gzip', gzipSync(zeros)],
    ['deflate', deflateSync(zeros)],
    ['deflate', deflateRawSync(zeros)],
    ['br', brotliCompressSync(zeros)],
    ['gzip, gzip', gzipSync(gzipSync(zeros))],
    ['zstd', frame(10, Array.from({ length: 64 }, mebibyte).flat())],
  ])('%s that grows beyond the limit is refused', async (encoding, body) => {
    expect(body.length).toBeLessThan(MAX / 8)
    expect(await decode(body, encoding)).toBeUndefined()
  })

  test('what is as large as the limit is read', async () => {
    for (const [encoding, body] of [
      ['gzip', gzipSync(zeros.subarray(0, MAX))],
      ['zstd', frame(10, mebibyte())],
    ] as const)
      expect(await decodeReply(body, encoding, { maxBytes: MAX })).toHaveLength(MAX)
  })

  test('zstd whose window is larger than HTTP allows (RFC 9659)', async () => {
    const blocks = [{ type: 'raw', content: Buffer.from('hi') }] as const
    expect(await decode(frame(13, blocks), 'zstd')).toBe('hi')
    for (const window of [14, 20, 31])
      expect(await decode(frame(window, blocks), 'zstd')).toBeUndefined()
  })

  test('zstd that would keep its decoder busy for minutes ends', async () => {
    expect(await decode(frame(1, [endless, endless]), 'zstd')).toBeUndefined()
  })
})
