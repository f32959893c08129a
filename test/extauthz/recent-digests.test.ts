// The latest digests are known, and no others.

import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { RecentDigests } from '../../src/extauthz/recent-digests.js'

const digestOf = (index: number): string => hash('sha256', String(index), 'binary')

/** A digest of zeros but for the bytes given by their place. */
function digestWith(bytes: Readonly<Record<number, number>>): string {
  const digest = Buffer.alloc(32)
  for (const [at, byte] of Object.entries(bytes)) digest[Number(at)] = byte
  return digest.toString('binary')
}

test.each([1, 2, 16, 100, 1_000])(
  'knows the latest half of %d, and none that was never added',
  (max) => {
    const digests = new RecentDigests(max)
    const half = Math.ceil(max / 2)
    for (let i = 0; i < 5 * max; i++) {
      expect(digests.has(digestOf(i))).toBe(false)
      digests.add(digestOf(i))
      for (const back of [0, 1, half - 1])
        if (back <= i && back < half) expect(digests.has(digestOf(i - back))).toBe(true)
    }
    const known = Array.from({ length: 5 * max }, (_, i) => digests.has(digestOf(i)))
    expect(known.filter(Boolean).length).toBeLessThanOrEqual(2 * half)
  },
)

test('digests that differ in one byte are told apart, wherever it is', () => {
  const digests = new RecentDigests(1_000)
  const all = Array.from({ length: 32 }, (_, at) =>
    [1, 128, 255].map((byte) => digestWith({ [at]: byte })),
  ).flat()
  for (const [index, digest] of all.entries()) {
    expect(digests.has(digest)).toBe(false)
    digests.add(digest)
    for (const added of all.slice(0, index + 1)) expect(digests.has(added)).toBe(true)
  }
})

test('one that begins with zeros, as free places do, is known once it was added', () => {
  const digests = new RecentDigests(10)
  const zeros = digestWith({ 31: 7 })
  expect(digests.has(zeros)).toBe(false)
  digests.add(zeros)
  expect(digests.has(zeros)).toBe(true)
  expect(digests.has(digestWith({ 31: 8 }))).toBe(false)
})

test('one that was added twice counts once', () => {
  const digests = new RecentDigests(4)
  digests.add(digestOf(1))
  for (let i = 0; i < 10; i++) digests.add(digestOf(2))
  expect(digests.has(digestOf(1))).toBe(true)
})
