// Encoded bodies that arrive in pieces: decoded as far as received, however they are cut, and abandoned when their
// reader leaves.

import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decoderOf } from '../../../src/extproc/encodings/decode-reply.js'
import type { Decoder } from '../../../src/extproc/encodings/decoder.js'
import { ENCODERS, flushed } from '../../support/encoded-stream.js'
import { runs } from '../../support/runs.js'
import { frame } from '../support/zstd.js'

const MAX = 64 * 1024
const open = (encoding: string): Decoder =>
  decoderOf(encoding, { maxBytes: MAX }) ?? expect.unreachable()
const text = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString()
const EVENTS = ['data: first of them\n\n', 'data: second\n\n', 'data: third\n\n']

describe.each(Object.keys(ENCODERS))('%s', (encoding) => {
  test('gives what was flushed, as soon as it is there', async () => {
    const decoder = open(encoding)
    const pieces = await flushed(encoding, EVENTS)
    for (const [at, event] of EVENTS.entries())
      expect(text(await decoder.push(pieces[at] ?? expect.unreachable()))).toBe(event)
    for (const rest of pieces.slice(EVENTS.length)) expect(text(await decoder.push(rest))).toBe('')
    expect(text(await decoder.end())).toBe('')
  })

  test('is the same however it is cut', async () => {
    const all = Buffer.concat(await flushed(encoding, EVENTS))
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(fc.nat(all.length)), async (cuts) => {
        const decoder = open(encoding)
        let read = ''
        const places = [0, ...cuts.sort((one, other) => one - other), all.length]
        for (const [index, end] of places.slice(1).entries())
          read += text(await decoder.push(all.subarray(places[index], end))) ?? '?'
        expect(read + (text(await decoder.end()) ?? '?')).toBe(EVENTS.join(''))
      }),
      { numRuns: runs(50) },
    )
  })

  test('that breaks off is known at its end', async () => {
    const decoder = open(encoding)
    const [first] = await flushed(encoding, EVENTS)
    expect(text(await decoder.push(first ?? expect.unreachable()))).toBe(EVENTS[0])
    expect(await decoder.end()).toBeUndefined()
  })

  test('that is damaged is known where it is', async () => {
    const decoder = open(encoding)
    const [first] = await flushed(encoding, EVENTS)
    expect(text(await decoder.push(first ?? expect.unreachable()))).toBe(EVENTS[0])
    expect(await decoder.push(Buffer.alloc(64, 0xff))).toBeUndefined()
  })

  test('that is left while it is read ends', async () => {
    const decoder = open(encoding)
    const read = decoder.push(Buffer.concat(await flushed(encoding, EVENTS)))
    decoder.close()
    expect(await read).toBeUndefined()
  })

  test('of nothing is nothing', async () => {
    const decoder = open(encoding)
    expect(text(await decoder.push(Buffer.alloc(0)))).toBe('')
    expect(text(await decoder.end())).toBe('')
  })
})

const zeros = Buffer.alloc(2 * MAX)
test.each<[string, Uint8Array]>([
  ['gzip', gzipSync(zeros)],
  ['deflate', deflateSync(zeros)],
  ['deflate', deflateRawSync(zeros)],
  ['br', brotliCompressSync(zeros)],
  ['gzip, br', brotliCompressSync(gzipSync(zeros))],
  ['zstd', frame(1, [{ type: 'repeat', content: Buffer.alloc(1), size: 2 * MAX }])],
])('a piece in %s that grows beyond the limit is refused', async (encoding, bomb) => {
  expect(await open(encoding).push(bomb)).toBeUndefined()
})

test('what all pieces stand for has no limit', async () => {
  const decoder = open('gzip')
  const pieces = await flushed(
    'gzip',
    Array.from({ length: 20 }, () => 'x'.repeat(MAX / 2)),
  )
  for (const piece of pieces) expect(await decoder.push(piece)).toBeDefined()
  expect(await decoder.end()).toBeDefined()
})

test('bytes after a finished gzip member add nothing and hold nothing up', async () => {
  const decoder = open('gzip')
  expect(text(await decoder.push(gzipSync('hi')))).toBe('hi')
  const rest = [await decoder.push(Buffer.from('garbage')), await decoder.end()]
  expect(rest.map((bytes) => text(bytes) ?? '')).toEqual(['', ''])
})
