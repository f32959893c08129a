// Converts bytes to text and back in slices: the same result as at once, and no slice longer than a few milliseconds.

import * as fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { PIECE, SLICE_UNITS, unitsOf, type Work } from '../../src/kit/turns.js'
import {
  decodeUtf8,
  decodeUtf8InTurns,
  encodeUtf8InTurns,
  joinInTurns,
} from '../../src/kit/utf8.js'
import { runs } from '../support/runs.js'

afterEach(() => vi.restoreAllMocks())

/** The result of the work, and the values of count() between two turns. */
function run<T>(work: Work<T>, count = () => 0): { readonly value: T; readonly slices: number[] } {
  const slices: number[] = []
  for (;;) {
    const before = count()
    const step = work.next()
    slices.push(count() - before)
    if (step.done === true) return { value: step.value, slices }
  }
}

/** Lengths around the ends of pieces. */
const around = fc.integer({ min: -8, max: 8 }).map((more) => PIECE + more)
const characters = fc.constantFrom('a', 'ü', '€', '😀', '\ufeff')
const anyText = fc
  .tuple(around, characters, fc.string({ unit: 'grapheme' }))
  .map(([length, one, more]) => 'x'.repeat(length) + one.repeat(3) + more + one.repeat(PIECE))

describe('text in slices', () => {
  test('is the same as at once', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const { value: bytes } = run(encodeUtf8InTurns(text))
        expect(bytes.equals(Buffer.from(text))).toBe(true)
        expect(run(decodeUtf8InTurns(bytes)).value === text).toBe(true)
      }),
      { numRuns: runs(50) },
    )
  })

  test('is none where it is not UTF-8, wherever that is', () => {
    const broken = fc.constantFrom([0xff], [0x80], [0xc3], [0xe2, 0x82], [0x80, 0x80, 0x80, 0x80])
    fc.assert(
      fc.property(around, broken, characters, (length, bytes, one) => {
        const parts = [
          Buffer.alloc(length, 'x'),
          Buffer.from(bytes),
          Buffer.from(one.repeat(PIECE)),
        ]
        const all = Buffer.concat(parts)
        expect(decodeUtf8(all)).toBe(undefined)
        expect(run(decodeUtf8InTurns(all)).value).toBe(undefined)
      }),
      { numRuns: runs(50) },
    )
  })

  test('a lone surrogate is written as it is at once', () => {
    const text = `${'x'.repeat(PIECE - 1)}\ud83d${'x'.repeat(PIECE)}\ud83d`
    expect(run(encodeUtf8InTurns(text)).value.equals(Buffer.from(text))).toBe(true)
  })
})

describe.each(['a', 'ü', '€', '😀'])('10 MiB of %s', (one) => {
  const bytes = Buffer.alloc(10 << 20, one).subarray(
    0,
    (10 << 20) - ((10 << 20) % Buffer.byteLength(one)),
  )
  const text = bytes.toString()

  test('are read with a turn for others after every slice', () => {
    const decode = vi.spyOn(TextDecoder.prototype, 'decode')
    const units = () =>
      decode.mock.calls.reduce((sum, [part]) => sum + unitsOf(part?.byteLength ?? 0), 0)
    const { slices } = run(decodeUtf8InTurns(bytes), units)
    expect(Math.max(...slices)).toBeLessThanOrEqual(SLICE_UNITS)
    expect(slices.length).toBeGreaterThan(9)
  })

  test('are written with a turn for others after every slice', () => {
    const from = vi.spyOn(Buffer, 'from')
    const units = () =>
      from.mock.calls.reduce((sum, [part]) => sum + unitsOf((part as unknown as string).length), 0)
    const { slices } = run(encodeUtf8InTurns(text), units)
    expect(Math.max(...slices)).toBeLessThanOrEqual(SLICE_UNITS)
    expect(slices.length).toBeGreaterThan(text.length / (1 << 20))
  })
})

test('many parts are joined with a turn for others after every slice', () => {
  const parts = Array.from({ length: 20_000 }, (_, index) => Buffer.alloc(512, index))
  const set = vi.spyOn(Uint8Array.prototype, 'set')
  const { value, slices } = run(joinInTurns(parts), () => set.mock.calls.length)
  expect(value.equals(Buffer.concat(parts))).toBe(true)
  expect(Math.max(...slices)).toBeLessThanOrEqual(SLICE_UNITS)
})

test('one part is not copied', () => {
  const part = Buffer.from('one')
  expect(run(joinInTurns([part])).value.buffer).toBe(part.buffer)
  expect(run(joinInTurns([])).value).toHaveLength(0)
})
